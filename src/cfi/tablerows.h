/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rule holds where in a file: the rows of FDEs, marks over them, and what is in the gaps
 * between. For a whole table (cfi/table.h), or for one place (cfi/lazytable.h).
 */
#ifndef CFI_TABLEROWS_H
#define CFI_TABLEROWS_H

#include "cfi/table.h"
#include "cfi/overrides.h"

/* Rows whose places are file offsets; ascending. */
typedef void (*table_rows_fn)(const struct cfi_row *, size_t cnt, void *arg);

struct table_rows {
	const struct table_source *source;
	table_rows_fn set;
	void *arg;
	uint64_t end; /* file offset up to which rows have been made; 0: none have */
	/* private */
	size_t mark;	   /* the source's, which is next */
	uint64_t mark_off; /* where it begins, or before */
};

/* From a link-time address to the offset in the file. False: it is in no code. */
bool table_rows__off(const struct table_source *, uint64_t vaddr, uint64_t *off);
/* The same of marks, of which there is room for as many, and without what is beyond their segment.
 * How many: those that are in no code, or in another order there, are left out. */
size_t table_rows__marks(const struct table_source *, const struct overrides *,
			 struct table_override *);
/* The same of an FDE. False: in no code, or larger than any compiler makes one. */
bool table_rows__place(const struct table_source *, struct cfi_fde *);

/* The FDE that is next in the file, placed; and the gap before it. */
void table_rows__fde(struct table_rows *, const struct cfi_fde *);
/* From where rows end: there is no FDE up to `to`. */
void table_rows__gap(struct table_rows *, uint64_t to);
/* The same behind the last FDE. */
void table_rows__finish(struct table_rows *);

#endif
