// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/frametable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"

#define MAGIC		 "STKTABLE"
#define VERSION		 1
#define PAGE_SZ		 (1u << TABLE_PAGE_BITS)
#define ALIGNMENT_GAP	 16 /* bytes of padding between functions: nobody is there */
#define RULE_SLOTS	 (2 * (TABLE_RULE_MAX + 1))
#define INSTRUCTIONS_MAX (256u << 10) /* bytes of one FDE */

/* An FDE, where it lies in the file. */
struct span {
	uint64_t off, sz;
	uint64_t bias; /* link-time address - off */
	uint32_t section, at;
};

struct maker {
	const struct table_source *source;
	struct callframe_reader readers[TABLE_SECTION_MAX];
	uint32_t section; /* that is being read */
	struct buf spans;
	struct buf rules, pages, starts, ids;
	uint32_t *slots; /* rule numbers + 1, by hash */
	uint64_t first_page;
	uint64_t end;	   /* file offset up to which rows have been made */
	uint64_t from;	   /* of the FDE in hand: what is below has been made by another */
	uint64_t to, bias; /* of the FDE in hand */
	uint16_t last;	   /* rule of the last row */
	int err;
};

/* ---- rows ---------------------------------------------------------------------------------------
 */

static size_t rule_cnt(const struct maker *m)
{
	return m->rules.sz / sizeof(struct flat_rule);
}

static uint32_t row_cnt(const struct maker *m)
{
	return (uint32_t)(m->ids.sz / sizeof(uint16_t));
}

static uint16_t rule_id(struct maker *m, struct flat_rule rule)
{
	const struct flat_rule *rules = (const void *)m->rules.data;
	uint64_t bits = flat_rule__bits(rule);
	size_t i = (bits * 0x9e3779b97f4a7c15u) >> 40;

	for (;; i++) {
		uint32_t *slot = &m->slots[i % RULE_SLOTS];

		if (*slot && flat_rule__bits(rules[*slot - 1]) == bits)
			return (uint16_t)(*slot - 1);
		if (*slot)
			continue;
		if (rule_cnt(m) == TABLE_RULE_MAX)
			return rule_id(m, (struct flat_rule){ .how = FLAT_ELSEWHERE });
		buf__append(&m->rules, &rule, sizeof(rule));
		*slot = (uint32_t)rule_cnt(m);
		return (uint16_t)(*slot - 1);
	}
}

static void add_row(struct maker *m, uint64_t off, uint16_t id)
{
	uint16_t start = off % PAGE_SZ;

	if (row_cnt(m) == TABLE_ROW_MAX)
		m->err = -E2BIG;
	if (m->err)
		return;
	buf__append(&m->starts, &start, sizeof(start));
	buf__append(&m->ids, &id, sizeof(id));
	m->last = id;
}

/* Pages up to that of `off` begin with the rule that holds there: the last row's. */
static void begin_pages(struct maker *m, uint64_t off)
{
	uint64_t page = off / PAGE_SZ;
	uint64_t next = m->first_page + m->pages.sz / sizeof(uint32_t);

	for (; next <= page && !m->err; next++) {
		uint32_t first = row_cnt(m);

		if (next - m->first_page == TABLE_PAGE_MAX)
			m->err = -E2BIG;
		buf__append(&m->pages, &first, sizeof(first));
		if (next < page || off % PAGE_SZ)
			add_row(m, next * PAGE_SZ, m->last);
	}
}

/* From `off` on the rule holds; before it, what held there. */
static void set_rule(struct maker *m, uint64_t off, struct flat_rule rule)
{
	uint16_t id = rule_id(m, rule);

	begin_pages(m, off);
	if (id != m->last || off % PAGE_SZ == 0)
		add_row(m, off, id);
}

static void take_row(uint64_t start, uint64_t end, struct flat_rule rule, void *arg)
{
	struct maker *m = arg;
	uint64_t from = start - m->bias, to = end - m->bias;

	if (from < m->from)
		from = m->from;
	if (to > m->to)
		to = m->to;
	if (from >= to || m->err)
		return;
	set_rule(m, from, rule);
	m->end = to;
}

/* ---- FDEs ---------------------------------------------------------------------------------------
 */

static void take_fde(const struct callframe_fde *fde, void *arg)
{
	struct maker *m = arg;

	if (m->err || cursor__left(&fde->instructions) > INSTRUCTIONS_MAX || fde->at > UINT32_MAX)
		return;
	if (m->spans.sz / sizeof(struct span) == TABLE_FDE_MAX) {
		m->err = -E2BIG;
		return;
	}
	for (size_t i = 0; i < m->source->segment_cnt; i++) {
		const struct table_segment *s = &m->source->segments[i];
		uint64_t in = fde->start - s->vaddr;
		struct span span = { .off = s->off + in,
				     .sz = fde->sz < s->sz - in ? fde->sz : s->sz - in,
				     .bias = s->vaddr - s->off,
				     .section = m->section,
				     .at = (uint32_t)fde->at };

		if (in >= s->sz)
			continue;
		buf__append(&m->spans, &span, sizeof(span));
		return;
	}
}

/* By place; where several begin, in the order in which they came. */
static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void make_rows(struct maker *m, const struct span *s)
{
	const struct flat_rule none = { .how = FLAT_NONE };
	struct callframe_fde fde;

	if (!callframe__fde(&m->readers[s->section], s->at, &fde))
		return;
	if (m->end && s->off > m->end + ALIGNMENT_GAP)
		set_rule(m, m->end, none);
	m->from = s->off > m->end ? s->off : m->end;
	m->to = s->off + s->sz;
	m->bias = s->bias;
	callframe__rows(&fde, m->source->machine, take_row, m);
}

static bool is_sorted(const struct span *spans, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		if (by_place(&spans[i - 1], &spans[i]) > 0)
			return false;
	}
	return true;
}

static void make_all(struct maker *m)
{
	struct span *spans = (struct span *)(void *)m->spans.data;
	size_t cnt = m->spans.sz / sizeof(*spans);
	uint32_t end;

	if (!cnt) {
		m->err = -ENOENT;
		return;
	}
	if (!is_sorted(spans, cnt))
		qsort(spans, cnt, sizeof(*spans), by_place);
	m->first_page = spans[0].off / PAGE_SZ;
	rule_id(m, (struct flat_rule){ .how = FLAT_ELSEWHERE }); /* there is room for it later */
	m->last = rule_id(m, (struct flat_rule){ .how = FLAT_NONE });
	for (size_t i = 0; i < cnt && !m->err; i++)
		make_rows(m, &spans[i]);
	set_rule(m, m->end, (struct flat_rule){ .how = FLAT_NONE });
	end = row_cnt(m);
	buf__append(&m->pages, &end, sizeof(end));
}

/* ---- the block ----------------------------------------------------------------------------------
 */

static uint64_t checksum(const struct frame_table *t)
{
	struct frame_table head = *t;

	head.checksum = 0;
	return XXH3_64bits_withSeed(t + 1, t->sz - sizeof(*t), XXH3_64bits(&head, sizeof(head)));
}

void frame_table__seal(struct frame_table *t)
{
	t->checksum = checksum(t);
}

static struct frame_table *assemble(const struct maker *m)
{
	const struct buf *const parts[] = { &m->rules, &m->pages, &m->starts, &m->ids };
	struct frame_table *t;
	uint8_t *to;
	size_t sz = sizeof(*t);

	for (size_t i = 0; i < 4; i++)
		sz += parts[i]->sz;
	t = malloc(sz);
	if (!t)
		return NULL;
	*t = (struct frame_table){ .version = VERSION,
				   .rule_cnt = (uint32_t)rule_cnt(m),
				   .page_cnt = (uint32_t)(m->pages.sz / sizeof(uint32_t)) - 1,
				   .row_cnt = row_cnt(m),
				   .first_page = m->first_page,
				   .sz = sz,
				   .build_id = m->source->build_id };
	memcpy(t->magic, MAGIC, sizeof(t->magic));
	to = (uint8_t *)(t + 1);
	for (size_t i = 0; i < 4; i++) {
		memcpy(to, parts[i]->data, parts[i]->sz);
		to += parts[i]->sz;
	}
	frame_table__seal(t);
	return t;
}

static int buffers_err(const struct maker *m)
{
	return buf__err(&m->spans) || buf__err(&m->rules) || buf__err(&m->pages) ||
			       buf__err(&m->starts) || buf__err(&m->ids)
		       ? -ENOMEM
		       : 0;
}

struct frame_table *frame_table__make(const struct table_source *source)
{
	struct maker m = { .source = source };
	struct frame_table *t = NULL;

	m.slots = calloc(RULE_SLOTS, sizeof(*m.slots));
	m.err = m.slots ? 0 : -ENOMEM;
	for (; m.section < source->section_cnt && !m.err; m.section++) {
		m.readers[m.section].section = &source->sections[m.section];
		callframe__each(&m.readers[m.section], take_fde, &m);
	}
	if (!m.err)
		m.err = buffers_err(&m);
	if (!m.err)
		make_all(&m);
	if (!m.err)
		m.err = buffers_err(&m);
	if (!m.err)
		t = assemble(&m);
	buf__free(&m.spans);
	buf__free(&m.rules);
	buf__free(&m.pages);
	buf__free(&m.starts);
	buf__free(&m.ids);
	free(m.slots);
	if (!t)
		errno = m.err ? -m.err : ENOMEM;
	return t;
}

static bool rows_are_sound(const struct frame_table *t)
{
	const uint32_t *pages = frame_table__pages(t);
	const uint16_t *ids = frame_table__ids(t);

	if (pages[0] != 0 || pages[t->page_cnt] != t->row_cnt)
		return false;
	for (uint32_t i = 0; i < t->page_cnt; i++) {
		if (pages[i] > pages[i + 1])
			return false;
	}
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		if (ids[i] >= t->rule_cnt)
			return false;
	}
	return true;
}

bool frame_table__is_sound(const struct frame_table *t, size_t sz, const struct build_id *build_id)
{
	uint64_t expected;

	if (sz < sizeof(*t) || memcmp(t->magic, MAGIC, sizeof(t->magic)) || t->version != VERSION ||
	    t->sz != sz || memcmp(&t->build_id, build_id, sizeof(*build_id)))
		return false;
	if (t->rule_cnt > TABLE_RULE_MAX || t->page_cnt > TABLE_PAGE_MAX ||
	    t->row_cnt > TABLE_ROW_MAX)
		return false;
	expected = sizeof(*t) + (uint64_t)t->rule_cnt * sizeof(struct flat_rule) +
		   ((uint64_t)t->page_cnt + 1) * sizeof(uint32_t) +
		   (uint64_t)t->row_cnt * 2 * sizeof(uint16_t);
	return expected == sz && checksum(t) == t->checksum && rows_are_sound(t);
}
