/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocation functions of a program or library, for the probe alloc. */
#ifndef CAPTURE_ALLOCFUNCTIONS_H
#define CAPTURE_ALLOCFUNCTIONS_H

#include "elf/elffile.h"

#define ALLOC_FUNCTION_MAX 96

struct alloc_function {
	uint64_t addr;	 /* link-time address */
	uint64_t off;	 /* in the file */
	uint64_t cookie; /* ALLOC_COOKIE_*, bpf/allocations.h */
};

struct alloc_functions {
	struct alloc_function at[ALLOC_FUNCTION_MAX]; /* of different addresses */
	size_t cnt;
};

/*
 * Finds by their names the functions that allocate or free: those of the C library, of jemalloc,
 * tcmalloc and mimalloc, also with their prefixes, and operator new and delete if they do not just
 * call malloc() and free() of another file. Returns 0, or -errno if the symbols cannot be read.
 */
int alloc_functions__find(const struct elf_file *, struct alloc_functions *);

/* Returns whether the functions may be those of the file: they are in its code, at different
 * addresses, and their cookies are well-formed. */
bool alloc_functions__are_sound(const struct elf_file *, const struct alloc_functions *);

#endif
