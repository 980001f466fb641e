/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ELF images in a process's list for gdb, as they were read once: their code and its
 * call-frame information, in one block without pointers. A worker makes it.
 */
#ifndef JIT_GDBLIST_H
#define JIT_GDBLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/codemap.h"

struct gdb_image {
	uint64_t start, end; /* of all of its code */
	uint64_t frames_at;  /* as in struct code */
	uint32_t frames_off, frames_sz;
	uint32_t machine; /* EM_* */
	uint32_t zero;
};

/* A range of code, and the index of the image with its frames. */
struct gdb_range {
	uint64_t start, end;
	uint32_t image, zero;
};

struct gdb_list {
	uint32_t image_cnt, range_cnt, frames_sz, zero;
	/* struct gdb_image[], struct gdb_range[] (ascending, no overlaps), and all frames follow */
};

#define GDB_LIST_MAX (33u << 20) /* bytes of the largest block */

/* Reads the list that begins at the address `first` from a /proc/PID/mem. Returns a malloc()ed
 * block and sets `*sz`, or NULL and sets errno. May wait for the process's memory. */
struct gdb_list *gdb_list__read(int mem, uint64_t first, size_t *sz);

/* Returns whether the block may be the result of gdb_list__read(). */
bool gdb_list__is_sound(const void *block, size_t sz);

/* See gdb_jit__find(). */
bool gdb_list__find(const struct gdb_list *, uint64_t addr, struct code *);

#endif
