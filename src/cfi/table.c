// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/hashindex.h"
#include "base/seed.h"

#define MAGIC	   "STKTABLE"
#define VERSION	   10
#define PAGE_SZ	   (1u << TABLE_PAGE_BITS)
#define KNOWN_BITS 10
#define ROWS_MIN   1024

struct table_known_rule {
	uint64_t key; /* bits of the rule + 1; 0: free */
	uint16_t id;
};

struct maker {
	const struct table_source *source;
	struct cfi_reader readers[TABLE_SECTION_MAX];
	uint32_t section; /* currently being read */
	struct buf fdes;  /* uint64_t: see table_key_of() */
	struct buf rules, pages;
	struct cfi_table *table; /* with its rows; the other parts are added last */
	struct table_row *rows;	 /* of the table */
	uint32_t row_cnt, row_cap;
	struct hashindex index; /* of rules */
	struct table_known_rule
		known[1 << KNOWN_BITS]; /* direct-mapped cache in front of the index */
	uint64_t first_page;
	uint64_t page_end; /* file offset up to which pages have been started */
	struct table_rows made;
	uint64_t last; /* bits of the last row's rule */
	int err;
};

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* The bits of no rule. */
#define NO_RULE UINT64_MAX

static uint64_t table_bits_of(enum packed_how how)
{
	return packed_rule__bits((struct packed_rule){ .how = (uint8_t)how });
}

static size_t table_rule_cnt(const struct maker *m)
{
	return m->rules.sz / sizeof(struct packed_rule);
}

static uint16_t table_add_rule(struct maker *m, uint64_t bits)
{
	const struct packed_rule *rules = (const void *)m->rules.data;
	uint64_t hash = seed__mix(bits);
	uint32_t id = HASHINDEX_FIND(&m->index, hash, i, packed_rule__bits(rules[i]) == bits);

	if (id != HASHINDEX_NONE)
		return (uint16_t)id;
	if (table_rule_cnt(m) == TABLE_RULE_MAX)
		return table_add_rule(m, table_bits_of(PACKED_ELSEWHERE));
	id = (uint32_t)table_rule_cnt(m);
	buf__append(&m->rules, &bits, sizeof(bits));
	if (buf__err(&m->rules) || hashindex__add(&m->index, hash, id) != 0)
		m->err = -ENOMEM;
	return (uint16_t)id;
}

/* Nearly all rows have one of some hundred rules. */
static inline uint16_t table_rule_id(struct maker *m, uint64_t bits)
{
	struct table_known_rule *k = &m->known[(bits * 0x9e3779b97f4a7c15u) >> (64 - KNOWN_BITS)];

	if (k->key != bits + 1)
		*k = (struct table_known_rule){ bits + 1, table_add_rule(m, bits) };
	return k->id;
}

static bool table_resize(struct maker *m, size_t sz)
{
	struct cfi_table *t = realloc(m->table, sz);

	if (!t) {
		m->err = -ENOMEM;
		return false;
	}
	m->table = t;
	m->rows = (struct table_row *)(void *)(t + 1);
	return true;
}

__attribute__((noinline)) static bool table_grow_rows(struct maker *m, size_t cnt)
{
	uint32_t cap = m->row_cap ? m->row_cap : ROWS_MIN;

	while (cap - m->row_cnt < cnt)
		cap *= 2;
	if (cap > TABLE_ROW_MAX)
		m->err = -E2BIG;
	if (m->err || !table_resize(m, sizeof(*m->table) + cap * sizeof(*m->rows)))
		return false;
	m->row_cap = cap;
	return true;
}

static inline bool table_make_room(struct maker *m, size_t cnt)
{
	return !m->err && (m->row_cap - m->row_cnt >= cnt || table_grow_rows(m, cnt));
}

/* Starts all pages up to that of `off`. They begin with the rule of the last row. */
static void table_begin_pages(struct maker *m, uint64_t off)
{
	uint16_t id = table_rule_id(m, m->last);

	for (; m->page_end <= off && !m->err; m->page_end += PAGE_SZ) {
		if (m->page_end / PAGE_SZ - m->first_page == TABLE_PAGE_MAX)
			m->err = -E2BIG;
		buf__append(&m->pages, &m->row_cnt, sizeof(m->row_cnt));
		if (m->page_end == off)
			m->last = NO_RULE;
		else if (table_make_room(m, 1))
			m->rows[m->row_cnt++] = (struct table_row){ 0, id };
	}
}

/* Adds the rows of the current page, and skips those that change nothing. There is room for all.
 * Returns the first row after the page. */
static const struct cfi_row *table_add_rows(struct maker *m, const struct cfi_row *row,
					    const struct cfi_row *end)
{
	struct table_row *to = m->rows + m->row_cnt;
	uint64_t page_end = m->page_end, last = m->last;

	for (; row < end && row->at < page_end; row++) {
		if (packed_rule__bits(row->rule) == last)
			continue;
		last = packed_rule__bits(row->rule);
		*to++ = (struct table_row){ row->at % PAGE_SZ, table_rule_id(m, last) };
	}
	m->row_cnt = (uint32_t)(to - m->rows);
	m->last = last;
	return row;
}

/* Adds rows: each rule applies from its row on. The previous rule applies up to the first row. */
static void table_set_rules(const struct cfi_row *rows, size_t cnt, void *arg)
{
	const struct cfi_row *end = rows + cnt;
	struct maker *m = arg;

	while (table_make_room(m, (size_t)(end - rows)) &&
	       (rows = table_add_rows(m, rows, end)) < end)
		table_begin_pages(m, rows->at);
}

/* ---- FDEs ---------------------------------------------------------------------------------------
 */

/*
 * A key has an FDE's place in the file, its section, and its place in that section. If FDEs
 * overlap, the one with the smallest key counts.
 */
#define AT_BITS	 26 /* 64 MB of a section */
#define OFF_FROM (AT_BITS + 2)
#define OFF_MAX	 (1ull << (64 - OFF_FROM)) /* 64 GB of a file */

_Static_assert(TABLE_SECTION_MAX <= 1 << (OFF_FROM - AT_BITS), "there is room for all sections");

static uint64_t table_key_of(uint64_t off, uint32_t section, uint64_t at)
{
	return off << OFF_FROM | (uint64_t)section << AT_BITS | at;
}

static void table_take_fde(struct cfi_fde *fde, void *arg)
{
	struct maker *m = arg;
	uint64_t *key;

	if (m->err || fde->at >> AT_BITS || !table_rows__place(m->source, fde))
		return;
	if (fde->start >= OFF_MAX || m->fdes.sz == TABLE_FDE_MAX * sizeof(*key))
		m->err = -E2BIG;
	else if ((key = (uint64_t *)(void *)buf__extend(&m->fdes, sizeof(*key))))
		*key = table_key_of(fde->start, m->section, fde->at);
}

static void table_make_rows(struct maker *m, uint64_t key)
{
	struct cfi_reader *r = &m->readers[(key & ((1u << OFF_FROM) - 1)) >> AT_BITS];
	struct cfi_fde fde;

	if (cfi_reader__fde(r, key & ((1u << AT_BITS) - 1), &fde) &&
	    table_rows__place(m->source, &fde))
		table_rows__fde(&m->made, &fde);
}

#define DIGIT_BITS_MAX 14 /* 64 KB of counters */

struct digit {
	unsigned shift, bits;
};

static void table_sort_by_digit(const uint64_t *from, uint64_t *to, size_t cnt, struct digit digit)
{
	uint32_t at[(1 << DIGIT_BITS_MAX) + 1]; /* where the next key with each digit goes */
	uint64_t mask = (1u << digit.bits) - 1;

	memset(at, 0, (mask + 2) * sizeof(*at));
	for (size_t i = 0; i < cnt; i++)
		at[(from[i] >> digit.shift & mask) + 1]++;
	for (size_t d = 1; d <= mask; d++)
		at[d] += at[d - 1];
	for (size_t i = 0; i < cnt; i++)
		to[at[from[i] >> digit.shift & mask]++] = from[i];
}

/* Returns the number of significant bits above the lower bits, which are sorted already. */
static unsigned table_count_bits(const uint64_t *keys, size_t cnt)
{
	uint64_t all = 1;

	for (size_t i = 0; i < cnt; i++)
		all |= keys[i] >> OFF_FROM;
	return 64 - (unsigned)__builtin_clzll(all);
}

/* Sorts keys that are in the order of their lower bits (radix sort). `spare` has room for as many
 * keys. */
static void table_sort(uint64_t *keys, uint64_t *spare, size_t cnt)
{
	unsigned bits = table_count_bits(keys, cnt), digits = (bits - 1) / DIGIT_BITS_MAX + 1;
	struct digit digit = { OFF_FROM, (bits - 1) / digits + 1 };
	uint64_t *from = keys, *to = spare;

	for (; digits; digits--, digit.shift += digit.bits) {
		uint64_t *swap = from;

		table_sort_by_digit(from, to, cnt, digit);
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, cnt * sizeof(*keys));
}

static void table_make_in_order(struct maker *m, const uint64_t *keys, size_t cnt)
{
	uint64_t first = keys[0] >> OFF_FROM;

	if (m->source->mark_cnt && m->source->marks[0].off < first)
		m->made.end = m->source->marks[0].off; /* the override is in a gap */
	m->first_page = (m->made.end ? m->made.end : first) / PAGE_SZ;
	m->page_end = m->first_page * PAGE_SZ;
	/* first, so that there is always room for it */
	table_rule_id(m, table_bits_of(PACKED_ELSEWHERE));
	m->last = table_bits_of(PACKED_NONE);
	table_rule_id(m, m->last);
	for (size_t i = 0; i < cnt && !m->err; i++)
		table_make_rows(m, keys[i]);
	table_rows__finish(&m->made);
	buf__append(&m->pages, &m->row_cnt, sizeof(m->row_cnt));
}

#define ROWS_PER_KEY (sizeof(uint64_t) / sizeof(struct table_row))

/* Sorts the FDEs in the memory of the rows, of which there will be more. */
static void table_make_all(struct maker *m)
{
	uint64_t *keys = (uint64_t *)(void *)m->fdes.data;
	size_t cnt = m->fdes.sz / sizeof(*keys);

	if (!cnt)
		m->err = -ENOENT;
	if (!table_make_room(m, cnt * ROWS_PER_KEY))
		return;
	table_sort(keys, (uint64_t *)(void *)m->rows, cnt);
	table_make_in_order(m, keys, cnt);
}

/* ---- the block ----------------------------------------------------------------------------------
 */

static uint64_t table_checksum(const struct cfi_table *t)
{
	struct cfi_table head = *t;

	head.checksum = 0;
	return XXH3_64bits_withSeed(t + 1, t->sz - sizeof(*t), XXH3_64bits(&head, sizeof(head)));
}

void cfi_table__seal(struct cfi_table *t)
{
	t->checksum = table_checksum(t);
}

/* Appends pages and rules to the rows, which stay in place. */
static struct cfi_table *table_assemble(struct maker *m)
{
	size_t rows_end = sizeof(struct cfi_table) + m->row_cnt * sizeof(*m->rows);
	size_t sz = rows_end + m->pages.sz + m->rules.sz;
	struct cfi_table *t;
	uint8_t *end;

	if (!table_resize(m, sz))
		return NULL;
	t = m->table;
	m->table = NULL;
	*t = (struct cfi_table){ .version = VERSION,
				 .rule_cnt = (uint32_t)table_rule_cnt(m),
				 .page_cnt = (uint32_t)(m->pages.sz / sizeof(uint32_t)) - 1,
				 .row_cnt = m->row_cnt,
				 .first_page = m->first_page,
				 .sz = sz,
				 .digest = m->source->digest,
				 .build_id = m->source->build_id };
	memcpy(t->magic, MAGIC, sizeof(t->magic));
	end = (uint8_t *)t + rows_end;
	memcpy(end, m->pages.data, m->pages.sz);
	memcpy(end + m->pages.sz, m->rules.data, m->rules.sz);
	cfi_table__seal(t);
	return t;
}

static int table_buffers_err(const struct maker *m)
{
	return buf__err(&m->fdes) || buf__err(&m->rules) || buf__err(&m->pages) ? -ENOMEM : 0;
}

struct cfi_table *cfi_table__make(const struct table_source *source)
{
	struct maker m = { .source = source, .made = { .source = source, .set = table_set_rules } };
	struct cfi_table *t = NULL;

	m.made.arg = &m;
	for (; m.section < source->section_cnt && !m.err; m.section++) {
		m.readers[m.section].section = &source->sections[m.section];
		cfi_reader__each(&m.readers[m.section], table_take_fde, &m);
	}
	if (!m.err)
		m.err = table_buffers_err(&m);
	if (!m.err)
		table_make_all(&m);
	if (!m.err)
		m.err = table_buffers_err(&m);
	if (!m.err)
		t = table_assemble(&m);
	buf__free(&m.fdes);
	buf__free(&m.rules);
	buf__free(&m.pages);
	free(m.table);
	hashindex__free(&m.index);
	if (!t)
		errno = m.err ? -m.err : ENOMEM;
	return t;
}

static bool table_rows_are_sound(const struct cfi_table *t)
{
	const uint32_t *pages = cfi_table__pages(t);
	const struct table_row *rows = cfi_table__rows(t);

	if (pages[0] != 0 || pages[t->page_cnt] != t->row_cnt)
		return false;
	for (uint32_t i = 0; i < t->page_cnt; i++) {
		if (pages[i] > pages[i + 1])
			return false;
	}
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		if (rows[i].rule >= t->rule_cnt)
			return false;
	}
	return true;
}

/* Any numbers are safe: a walk checks each address. */
static bool table_rules_are_sound(const struct cfi_table *t)
{
	for (uint32_t i = 0; i < t->rule_cnt; i++) {
		const struct packed_rule *r = &cfi_table__rules(t)[i];

		if (r->how >= PACKED_POINTER ||
		    r->flags & ~(PACKED_CALLERS_ONLY | PACKED_UNWINDING))
			return false;
	}
	return true;
}

bool cfi_table__is_sound(const struct cfi_table *t, size_t sz, const struct build_id *build_id)
{
	uint64_t expected;

	if (sz < sizeof(*t) || memcmp(t->magic, MAGIC, sizeof(t->magic)) || t->version != VERSION ||
	    t->sz != sz || memcmp(&t->build_id, build_id, sizeof(*build_id)))
		return false;
	if (t->rule_cnt > TABLE_RULE_MAX || t->page_cnt > TABLE_PAGE_MAX ||
	    t->row_cnt > TABLE_ROW_MAX)
		return false;
	expected = sizeof(*t) + (uint64_t)t->row_cnt * sizeof(struct table_row) +
		   ((uint64_t)t->page_cnt + 1) * sizeof(uint32_t) +
		   (uint64_t)t->rule_cnt * sizeof(struct packed_rule);
	return expected == sz && table_checksum(t) == t->checksum && table_rows_are_sound(t) &&
	       table_rules_are_sound(t);
}

/* ---- gaps ---------------------------------------------------------------------------------------
 */

static void table_report_gaps_in_page(const struct cfi_table *t, uint32_t page, cfi_table_gap_fn fn,
				      void *arg)
{
	uint64_t at = (t->first_page + page) << TABLE_PAGE_BITS;
	const uint32_t *pages = cfi_table__pages(t);
	const struct table_row *rows = cfi_table__rows(t);

	if (pages[page] == pages[page + 1])
		fn(at, at + PAGE_SZ, arg);
	for (uint32_t i = pages[page]; i < pages[page + 1]; i++) {
		uint64_t end = i + 1 < pages[page + 1] ? rows[i + 1].start : PAGE_SZ;

		if (cfi_table__rules(t)[rows[i].rule].how == PACKED_NONE)
			fn(at + rows[i].start, at + end, arg);
	}
}

void cfi_table__gaps(const struct cfi_table *t, cfi_table_gap_fn fn, void *arg)
{
	for (uint32_t page = 0; page < t->page_cnt; page++)
		table_report_gaps_in_page(t, page, fn, arg);
}
