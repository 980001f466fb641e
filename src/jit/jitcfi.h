/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information of code that processes make at run time (jit/jit.h). Until a job has read
 * it, such code is walked by frame pointer. One thread at a time.
 */
#ifndef JIT_JITCFI_H
#define JIT_JITCFI_H

#include "base/jobs.h"
#include "process/process.h"
#include "jit/jit.h"

struct jit_cfi;

/* Borrows `jit`. Returns NULL and sets errno on failure. */
struct jit_cfi *jit_cfi__new(struct jit *);
void jit_cfi__free(struct jit_cfi *); /* accepts NULL */

/*
 * Returns an ELF file in memory with the call-frame information of the function at a place, or NULL
 * if there is none. Its link-time addresses are those of the process. Valid until the next call. If
 * `jobs` is NULL, or if only records have the dump, it reads the file itself and may block.
 */
struct elf_file *jit_cfi__find(struct jit_cfi *, const struct jit_place *, struct jobs *);

/* Returns true if the process, as far as it was examined, has no such information at all. */
bool jit_cfi__none(const struct jit_cfi *, const struct process *);

/* Returns the bytes of the files in memory and of what is attached to them. Accepts NULL. */
size_t jit_cfi__sz(const struct jit_cfi *);

#endif
