/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source lines of a Go program, and the functions that are inlined at each place, from Go's own
 * table (elf/gopclntab.h), in one block without pointers that a worker can make.
 */
#ifndef SYMBOL_GOLINES_H
#define SYMBOL_GOLINES_H

#include "base/buf.h"
#include "elf/elffile.h"
#include "symbol/symbol.h"

/*
 * The block:
 *	struct go_lines_head      header
 *	struct go_lines_range[]   range_cnt + 1, ascending; the last one is the end of the others
 *	uint32_t[]                string_cnt: where a string begins. 0 is no string
 *	uint8_t[]                 code_sz: the functions' parts
 *	char[]                    strings_sz: strings, with NULs
 *
 * The part of a function, without alignment:
 *	uint32_t                  inlined_cnt
 *	struct go_inlined[]       inlined_cnt
 *	per place: uleb(bytes of code << 1 | whether the next two follow), uleb(file),
 *	uleb(inlined + 1; 0: none), sleb(line - line before)
 */
struct go_lines_head {
	uint64_t text; /* link-time address that ranges are relative to */
	uint32_t range_cnt, string_cnt, code_sz, strings_sz;
};

struct go_lines_range {
	uint32_t start, at; /* of a function: in the code, and of its part */
};

/* A function that is inlined, and where it is called from. */
struct go_inlined {
	uint32_t function, file; /* strings */
	uint32_t line;
	uint32_t caller; /* into which it is inlined, + 1; 0: the function itself */
};

#define GO_PART_MAX 65536 /* bytes: a place is looked up by a search from the start */

/* Appends the block of a file to `out`. Returns 0, -ENOENT if it is not a Go program, or another
 * -errno. Uses what symtab__new() may use of the file. */
int go_lines__build(const struct elf_file *, struct buf *out);

/* A block in memory. Borrows it. */
struct go_lines {
	const struct go_lines_head *head;
	const struct go_lines_range *ranges;
	const uint32_t *strings_at;
	const uint8_t *code;
	const char *strings;
};

/* Returns false if the block is not sound. `block` is aligned to 8 bytes. */
bool go_lines__open(struct go_lines *, const void *block, size_t sz);

/* Finds the lines at a link-time address. Returns false if there are none. */
bool go_lines__at(const struct go_lines *, uint64_t vaddr, struct code_lines *);

#endif
