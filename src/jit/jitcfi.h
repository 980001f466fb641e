/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information of code that processes make while they run, as far as their jitdumps have
 * it, or what they list for gdb. Both are read by jobs: what has not been read yet is not there,
 * and is walked by frame pointer.
 */
#ifndef JIT_JITCFI_H
#define JIT_JITCFI_H

#include "base/jobs.h"
#include "process/process.h"
#include "jit/jitfile.h"

struct jit_cfi;

/* Until somebody sets other places it is processes of this host that are asked. NULL + errno. */
struct jit_cfi *jit_cfi__new(void);
void jit_cfi__set_places(struct jit_cfi *, const struct jit_places *);
void jit_cfi__free(struct jit_cfi *);

/*
 * A file in memory with the call-frame information of the function at a place, whose link-time
 * addresses are those of the process; NULL: there is none. Valid until the next call. With NULL for
 * `jobs` it waits for what has to be read; as it does for dumps that only records tell of.
 */
struct elf_file *jit_cfi__find(struct jit_cfi *, const struct jit_place *, struct jobs *);

/* Whether the process, as far as it has been looked at, has none at all. */
bool jit_cfi__none(const struct jit_cfi *, const struct process *);

#endif
