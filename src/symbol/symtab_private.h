/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a symbol table, for the files that make one. */
#ifndef SYMBOL_SYMTAB_PRIVATE_H
#define SYMBOL_SYMTAB_PRIVATE_H

#include "base/buf.h"
#include "base/rangemap.h"
#include "base/strtab.h"
#include "symbol/golines.h"
#include "symbol/symtab.h"

struct symtab_function {
	uint64_t addr;
	uint32_t raw;  /* offset in `raw` */
	uint32_t name; /* in `names`; 0 before the first look-up */
};

struct symtab {
	struct range_map map; /* link-time address → index in functions */
	struct symtab_function *functions;
	size_t cnt;
	struct buf raw;		/* names as in the file, with NULs */
	struct strtab *names;	/* readable names of the functions that were looked up */
	struct buf lines_block; /* Go's lines; empty: none */
	struct go_lines lines;	/* in it */
	/* the bytes of all arrays above, if a worker has made them; NULL: each has its own */
	void *block;
};

#endif
