/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines and inlined functions of addresses, from DWARF (.debug_info). */
#ifndef SYMBOL_LINES_H
#define SYMBOL_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct lines;

/* Strings are valid UTF-8 and live as long as their struct lines. */
struct line {
	const char *function; /* demangled; NULL if only the line is known */
	const char *file;     /* NULL if unknown */
	int line, column;     /* 0 if unknown */
};

typedef void (*line_fn)(const struct line *, void *arg);

/*
 * Opens the ELF file at `path` or its separate debug file (elf/debugfile.h). Returns NULL and sets
 * errno, ENOENT also if there is no debug information.
 */
struct lines *lines__new(const char *path);
void lines__free(struct lines *);

struct line_query {
	uint64_t vaddr; /* link-time address */
	/* report all functions; false: only the one that the others were inlined into */
	bool inlines;
};

/*
 * Reports the functions at an address, innermost first: each function that was inlined there, then
 * the one that they were inlined into. The line of each is the place in that function; for all but
 * the first, the place of the call. Returns 0, or -ENOENT if nothing is known and `fn` was not
 * called.
 */
int lines__at(struct lines *, struct line_query, line_fn fn, void *arg);

#endif
