/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules for the code of one file that has no call-frame information: hand-written assembly, C
 * libraries, and compilers that write none. They are derived from the instructions (cfi/codescan.h)
 * in the gaps of the file's table.
 */
#ifndef CFI_CODEROWS_H
#define CFI_CODEROWS_H

#include "elf/elffile.h"
#include "cfi/reader.h"

#define CODE_ROWS_MAX (1u << 18) /* 4 MB */

struct code_rows {
	struct cfi_row *rows; /* .at is a link-time address, ascending */
	size_t cnt, cap;
};

/* Returns false if the file has too much code to scan. Reads nothing. */
bool code_rows__may_be(const struct elf_file *);

/* Reads the file's call-frame information, symbols and code: takes milliseconds, may block on disk.
 * Makes no rows if memory is short. On machines other than x86-64, only the entry point gets a
 * rule. */
void code_rows__make(struct code_rows *, struct elf_file *);
void code_rows__free(struct code_rows *);

/* Returns the rule at a link-time address, or NULL. */
const struct packed_rule *code_rows__at(const struct code_rows *, uint64_t vaddr);

static inline size_t code_rows__sz(const struct code_rows *c)
{
	return c->cap * sizeof(*c->rows);
}

#endif
