/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rule holds where in a file: the rows of FDEs, marks over them, and what is in the gaps
 * between. For a whole table (unwind/frametable.h), or for one place (unwind/frameindex.h).
 */
#ifndef UNWIND_FRAMEROWS_H
#define UNWIND_FRAMEROWS_H

#include "unwind/frametable.h"
#include "unwind/marks.h"

/* Rows whose places are file offsets; ascending. */
typedef void (*frame_rows_fn)(const struct callframe_row *, size_t cnt, void *arg);

struct frame_rows {
	const struct table_source *source;
	frame_rows_fn set;
	void *arg;
	uint64_t end; /* file offset up to which rows have been made; 0: none have */
	/* private */
	size_t mark;	   /* the source's, which is next */
	uint64_t mark_off; /* where it begins, or before */
};

/* From a link-time address to the offset in the file. False: it is in no code. */
bool frame_rows__off(const struct table_source *, uint64_t vaddr, uint64_t *off);
/* The same of marks, of which there is room for as many, and without what is beyond their segment.
 * How many: those that are in no code, or in another order there, are left out. */
size_t frame_rows__marks(const struct table_source *, const struct marks *, struct table_mark *);
/* The same of an FDE. False: in no code, or larger than any compiler makes one. */
bool frame_rows__place(const struct table_source *, struct callframe_fde *);

/* The FDE that is next in the file, placed; and the gap before it. */
void frame_rows__fde(struct frame_rows *, const struct callframe_fde *);
/* From where rows end: there is no FDE up to `to`. */
void frame_rows__gap(struct frame_rows *, uint64_t to);
/* The same behind the last FDE. */
void frame_rows__finish(struct frame_rows *);

#endif
