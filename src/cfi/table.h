/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compiled call-frame information of one ELF file: about 4 bytes per row. It is one block
 * without pointers, the same in memory, in a cache file and in a BPF map:
 *
 *	    struct cfi_table         header
 *	    struct table_row[]       row_cnt: the start of a row in its page, ascending; its rule
 *	    uint32_t[]               page_cnt + 1: the first row of each 16 KiB of the file, from
 *	                             first_page on
 *	    struct packed_rule[]     rule_cnt: the rules that rows refer to
 *
 * A row extends to the next one, or to the end of its page. Rows are found by file offset: a
 * mapping translates a pc to one, and no file has more offsets than bytes. Rules are kept per file
 * and not shared among files, so that a forged file cannot use up the space of others.
 */
#ifndef CFI_TABLE_H
#define CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "event/record.h"
#include "cfi/tablerows.h"

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
	uint64_t digest;   /* of its sources: cfi_table__digest() */
	struct build_id build_id;
	uint8_t unused[3];
};

struct table_row {
	uint16_t start, rule;
};

/* Returns a malloc()ed table, or NULL with errno ENOENT if there is no row, E2BIG if the source is
 * larger than any real file, ENOMEM. */
struct cfi_table *cfi_table__make(const struct table_source *);

/* Sets the checksum. Call it after every change. */
void cfi_table__seal(struct cfi_table *);

/* Returns whether `sz` bytes are a complete table of this version for that build ID, safe for
 * look-ups. */
bool cfi_table__is_sound(const struct cfi_table *, size_t sz, const struct build_id *);

/* Reports the ranges of the file without a rule, in ascending order, within the pages of the table.
 */
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

/* Returns the rule at a file offset; PACKED_NONE outside the table. */
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
