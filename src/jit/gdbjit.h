/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a process lists for gdb (gdb's manual, "JIT Compilation Interface"): ELF images in its
 * memory, in a list that begins at __jit_debug_descriptor. QEMU, LLVM and what is built on it keep
 * one. All of it is the process's word: sizes are limited, and nothing is believed to be where it
 * is said to be.
 */
#ifndef JIT_GDBJIT_H
#define JIT_GDBJIT_H

#include "jit/codemap.h"
#include "jit/jitfile.h"

struct gdb_jit;

struct gdb_jit *gdb_jit__new(void); /* NULL + errno */
void gdb_jit__free(struct gdb_jit *);

/* What the process lists now; what is known of one that is gone stays. Reads its mappings, and its
 * files when these have changed. */
void gdb_jit__read(struct gdb_jit *, const struct jit_owner *);

/*
 * The image that has the address: .start and .sz are all of its code, .name is NULL; .frames until
 * the next gdb_jit__read(). False: none has, or without call-frame information.
 */
bool gdb_jit__find(const struct gdb_jit *, uint64_t addr, struct code *);

size_t gdb_jit__cnt(const struct gdb_jit *);	      /* images with call-frame information */
size_t gdb_jit__sz(const struct gdb_jit *);	      /* bytes of it */
uint32_t gdb_jit__generation(const struct gdb_jit *); /* grows with each change of the list */

#endif
