/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of one ELF file, compiled: about 4 bytes a row. One block of memory
 * without pointers, the same in memory, in a cache file and in a BPF map:
 *
 *     struct cfi_table             header
 *     struct table_row[]       row_cnt: where in its page a row starts, ascending; its rule
 *     uint32_t[]               page_cnt + 1: the first row of each 16 KiB of the file, from
 *                              first_page on
 *     struct packed_rule[]       rule_cnt: the rules that rows refer to
 *
 * A row goes to the next one, or to the end of its page. Rows are found by file offset: that is
 * what a mapping says of a pc, and no file has more of them than bytes. The rules are the file's
 * own, and not of all files together, so that a forged file cannot use up what others need.
 */
#ifndef CFI_TABLE_H
#define CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "event/record.h"
#include "cfi/reader.h"

#define TABLE_PAGE_BITS	  14
#define TABLE_RULE_MAX	  UINT16_MAX
#define TABLE_PAGE_MAX	  (1u << 18) /* 4 GiB of code */
#define TABLE_FDE_MAX	  (1u << 21)
#define TABLE_ROW_MAX	  (1u << 24)
#define TABLE_SECTION_MAX 3

struct cfi_table {
	char magic[8];
	uint32_t version;
	uint32_t rule_cnt, page_cnt, row_cnt;
	uint64_t first_page;
	uint64_t sz;	   /* of the whole block */
	uint64_t checksum; /* XXH3 of the rest */
	uint64_t digest;   /* of what it was made from: cfi_table__digest() */
	struct build_id build_id;
	uint8_t unused[3];
};

struct table_row {
	uint16_t start, rule;
};

/* Where link-time addresses lie in the file: an executable segment. */
struct table_segment {
	uint64_t vaddr, off, sz;
};

/* A rule that call-frame information does not say, or says wrong. */
struct table_override {
	uint64_t off, sz; /* in the file */
	struct packed_rule rule;
};

/* Looks for a signal trampoline in [off, end) of the file. */
typedef bool (*table_find_fn)(void *arg, uint64_t off, uint64_t end, struct table_override *found);

/* Copies code of the file. False if it cannot be had: what it is must be assumed then. */
typedef bool (*table_code_fn)(void *arg, uint64_t off, void *to, size_t sz);

/* Code of larger files is not read: 99.9 % of files have less (some 100 us to read). */
#define TABLE_CODE_MAX (4u << 20)

struct table_source {
	const struct machine *machine;
	struct build_id build_id;
	uint64_t digest;
	const struct table_segment *segments;
	size_t segment_cnt;
	const struct cfi_section *sections; /* where FDEs overlap the first one is believed */
	size_t section_cnt;		    /* at most TABLE_SECTION_MAX */
	const struct table_override *marks; /* ascending, none over another */
	size_t mark_cnt;
	table_find_fn find_trampoline; /* where no FDE is; NULL: in vain */
	void *find_arg;
	table_code_fn read_code; /* NULL: in vain */
	void *code_arg;
};

/* Whether the file is small enough for .read_code. */
bool table_source__may_read_code(const struct table_segment *, size_t cnt);

/* malloc()ed. NULL + errno: ENOENT without a row, E2BIG for what no real file has, ENOMEM. */
struct cfi_table *cfi_table__make(const struct table_source *);

/* Sets the checksum: to be called when anything has been changed. */
void cfi_table__seal(struct cfi_table *);

/* Whether `sz` bytes are a whole table of this version for that build ID, safe to look up in. */
bool cfi_table__is_sound(const struct cfi_table *, size_t sz, const struct build_id *);

/* Reports where the table has no rule: ranges of the file in ascending order, of those parts that
 * it has pages for. */
typedef void (*cfi_table_gap_fn)(uint64_t off, uint64_t end, void *arg);
void cfi_table__gaps(const struct cfi_table *, cfi_table_gap_fn, void *arg);

static inline const struct table_row *cfi_table__rows(const struct cfi_table *t)
{
	return (const struct table_row *)(const void *)(t + 1);
}

static inline const uint32_t *cfi_table__pages(const struct cfi_table *t)
{
	return (const uint32_t *)(const void *)(cfi_table__rows(t) + t->row_cnt);
}

static inline const struct packed_rule *cfi_table__rules(const struct cfi_table *t)
{
	return (const struct packed_rule *)(const void *)(cfi_table__pages(t) + t->page_cnt + 1);
}

/* The rule at a file offset; PACKED_NONE outside. */
static inline struct packed_rule cfi_table__at(const struct cfi_table *t, uint64_t off)
{
	const struct packed_rule none = { .how = PACKED_NONE };
	const struct table_row *rows = cfi_table__rows(t);
	uint16_t in_page = off & ((1u << TABLE_PAGE_BITS) - 1);
	uint64_t page = (off >> TABLE_PAGE_BITS) - t->first_page;
	const uint32_t *pages = cfi_table__pages(t);
	uint32_t first, cnt;

	if (page >= t->page_cnt)
		return none;
	first = pages[page];
	cnt = pages[page + 1] - first;
	if (!cnt)
		return none;
	while (cnt > 1) {
		uint32_t half = cnt / 2;

		first = rows[first + half].start <= in_page ? first + half : first;
		cnt -= half;
	}
	return cfi_table__rules(t)[rows[first].rule];
}

#endif
