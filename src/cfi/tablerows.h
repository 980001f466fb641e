/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a file by place: the rows of FDEs, overrides on top of them, and rules in the gaps
 * between. Used for a whole table (cfi/table.h) or for one place (cfi/lazytable.h).
 */
#ifndef CFI_TABLEROWS_H
#define CFI_TABLEROWS_H

#include "cfi/table.h"
#include "cfi/overrides.h"

/* Reports rows by file offset, ascending. */
typedef void (*table_rows_fn)(const struct cfi_row *, size_t cnt, void *arg);

struct table_rows {
	const struct table_source *source;
	table_rows_fn set;
	void *arg;
	uint64_t end; /* file offset up to which rows exist; 0: none yet */
	/* private */
	size_t mark;	   /* the next one of the source's overrides */
	uint64_t mark_off; /* its start, or a lower offset */
};

/* Converts a link-time address to a file offset. Returns false if the address is not in code. */
bool table_rows__off(const struct table_source *, uint64_t vaddr, uint64_t *off);
/* Converts overrides to file offsets, cut to their segments. `to` has room for all of them. Returns
 * their number: overrides outside code, or out of order in the file, are left out. */
size_t table_rows__marks(const struct table_source *, const struct overrides *,
			 struct table_override *);
/* Converts an FDE to file offsets. Returns false if it is not in code, or is larger than FDEs of
 * any compiler. */
bool table_rows__place(const struct table_source *, struct cfi_fde *);

/* Adds the next FDE in the file, after table_rows__place(), and the gap before it. */
void table_rows__fde(struct table_rows *, const struct cfi_fde *);
/* Adds a gap from the end of the rows: there is no FDE up to `to`. */
void table_rows__gap(struct table_rows *, uint64_t to);
/* Adds the gap after the last FDE. */
void table_rows__finish(struct table_rows *);

#endif
