/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a file by place: the rows of FDEs, overrides on top of them, and rules in the gaps
 * between. Used for a whole table (cfi/table.h) or for one place (cfi/lazytable.h).
 */
#ifndef CFI_TABLEROWS_H
#define CFI_TABLEROWS_H

#include "cfi/overrides.h"
#include "cfi/reader.h"

/* The position of an executable segment in the file, and its link-time address. */
struct table_segment {
	uint64_t vaddr, off, sz;
};

/* A rule that the call-frame information lacks or has wrong. */
struct table_override {
	uint64_t off, sz; /* in the file */
	struct packed_rule rule;
};

/* Searches [off, end) of the file for a signal trampoline. */
typedef bool (*table_find_fn)(void *arg, uint64_t off, uint64_t end, struct table_override *found);

/* Copies code of the file. Returns false if the code cannot be read; the caller then assumes the
 * usual. */
typedef bool (*table_code_fn)(void *arg, uint64_t off, void *to, size_t sz);

/* The code of larger files is not read: 99.9 % of files have less, which takes about 100 us to
 * read. */
#define TABLE_CODE_MAX (4u << 20)

struct table_source {
	const struct machine *machine;
	struct build_id build_id;
	uint64_t digest;
	const struct table_segment *segments;
	size_t segment_cnt;
	const struct cfi_section *sections; /* if FDEs overlap, the first one counts */
	size_t section_cnt;		    /* at most TABLE_SECTION_MAX */
	const struct table_override *marks; /* ascending, without overlaps */
	size_t mark_cnt;
	table_find_fn find_trampoline; /* called for gaps between FDEs; NULL: no search */
	void *find_arg;
	table_code_fn read_code; /* NULL: code is not read */
	void *code_arg;
};

/* Returns whether the file is small enough for `.read_code`. */
bool table_source__may_read_code(const struct table_segment *, size_t cnt);

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
