/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines and inlined functions of addresses, from DWARF (.debug_info). */
#ifndef SYMBOL_LINES_H
#define SYMBOL_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct lines;

/* Strings are valid UTF-8 and live as long as the struct lines that they came from. */
struct line {
	const char *function; /* demangled; NULL when only the line is known */
	const char *file;     /* NULL when unknown */
	int line, column;     /* 0 when unknown */
};

typedef void (*line_fn)(const struct line *, void *arg);

/*
 * Opens the ELF file at `path` or its separate debug file (elf/debugfile.h). NULL + errno;
 * ENOENT also when there is no debug information.
 */
struct lines *lines__new(const char *path);
void lines__free(struct lines *);

struct line_query {
	uint64_t vaddr; /* link-time address */
	bool inlines;	/* all of them; else only the last, which others were inlined into */
};

/*
 * What is at an address, innermost first: each function that was inlined there, last the one that
 * they were inlined into. Each one's line is the place in that function, of all but the first that
 * is where it calls the one before. 0, or -ENOENT when nothing is known and `fn` was not called.
 */
int lines__at(struct lines *, struct line_query, line_fn fn, void *arg);

#endif
