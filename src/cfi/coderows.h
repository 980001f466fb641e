/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of the code of one file that has no call-frame information: hand-written assembly, C
 * libraries and compilers that write none. Made from the instructions (cfi/codescan.h) between
 * what the file's table covers.
 */
#ifndef CFI_CODEROWS_H
#define CFI_CODEROWS_H

#include "elf/elffile.h"
#include "cfi/reader.h"

struct code_rows {
	struct cfi_row *rows; /* .at is a link-time address, ascending */
	size_t cnt, cap;
};

/* False if the file has too much code to look at. Reads nothing. */
bool code_rows__may_be(const struct elf_file *);

/* Reads the file's call-frame information, symbols and code: takes milliseconds, may wait for a
 * disk. Without memory there are no rows; for other machines than x86-64 only the entry has one. */
void code_rows__make(struct code_rows *, struct elf_file *);
void code_rows__free(struct code_rows *);

/* The rule at a link-time address; NULL if there is none. */
const struct packed_rule *code_rows__at(const struct code_rows *, uint64_t vaddr);

static inline size_t code_rows__sz(const struct code_rows *c)
{
	return c->cap * sizeof(*c->rows);
}

#endif
