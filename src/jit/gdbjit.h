/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a process lists for gdb (gdb's manual, "JIT Compilation Interface"): ELF images in its
 * memory, in a list that begins at __jit_debug_descriptor. QEMU, LLVM and programs built on LLVM
 * keep such a list. The process controls all of it: sizes are limited, and every address is
 * checked.
 */
#ifndef JIT_GDBJIT_H
#define JIT_GDBJIT_H

#include <pthread.h>

#include "jit/codemap.h"
#include "jit/jitfile.h"

struct gdb_jit;
struct workers; /* worker/workers.h */

/* gdb_jit__read() holds `lock` (NULL: none) only while it replaces the list. Borrows `workers`,
 * which read the list and the symbols of files; NULL: the caller's thread does. Returns NULL and
 * sets errno on failure. */
struct gdb_jit *gdb_jit__new(pthread_mutex_t *lock, struct workers *workers);
void gdb_jit__free(struct gdb_jit *);

/* Reads the present list of the process. Keeps the last list of a process that is gone. Reads its
 * mappings, and its files if the mappings have changed. Returns false if workers failed: the last
 * list stays. */
bool gdb_jit__read(struct gdb_jit *, const struct jit_owner *);
/* Frees the list; the next gdb_jit__read() reads all of it. Must hold the lock. */
void gdb_jit__forget(struct gdb_jit *);

/*
 * Finds the image that contains the address: .start and .sz cover all of its code, .name is NULL,
 * and .frames is valid until the next gdb_jit__read(). Returns false if there is none, or if it has
 * no call-frame information.
 */
bool gdb_jit__find(const struct gdb_jit *, uint64_t addr, struct code *);

size_t gdb_jit__cnt(const struct gdb_jit *);	      /* images with call-frame information */
size_t gdb_jit__sz(const struct gdb_jit *);	      /* bytes of it */
uint32_t gdb_jit__generation(const struct gdb_jit *); /* grows with each change of the list */

#endif
