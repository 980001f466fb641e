// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/framerows.h"

#define ALIGNMENT_GAP	 16 /* bytes of padding before an aligned function: nobody is there */
#define INSTRUCTIONS_MAX (256u << 10) /* bytes of one FDE */

__attribute__((noinline)) static const struct table_mark *find_mark(struct frame_rows *r,
								    uint64_t from, uint64_t to)
{
	const struct table_source *s = r->source;

	while (r->mark < s->mark_cnt && s->marks[r->mark].off + s->marks[r->mark].sz <= from)
		r->mark++;
	r->mark_off = r->mark < s->mark_cnt ? s->marks[r->mark].off : UINT64_MAX;
	return r->mark_off < to ? &s->marks[r->mark] : NULL;
}

/* The first mark that ends behind `from`, if it begins before `to`. Asked with ascending places;
 * nearly all are far from any. */
static inline const struct table_mark *next_mark(struct frame_rows *r, uint64_t from, uint64_t to)
{
	return r->mark_off < to ? find_mark(r, from, to) : NULL;
}

static void set_rule(struct frame_rows *r, uint64_t from, struct flat_rule rule)
{
	r->set(&(struct callframe_row){ from, rule }, 1, r->arg);
}

/* The rule holds in [from, to), but where there are marks. */
static void set_rules(struct frame_rows *r, uint64_t from, uint64_t to, struct flat_rule rule)
{
	const struct table_mark *mark;

	while (from < to && (mark = next_mark(r, from, to))) {
		if (mark->off > from)
			set_rule(r, from, rule);
		from = mark->off > from ? mark->off : from;
		set_rule(r, from, mark->rule);
		from = mark->off + mark->sz;
	}
	if (from < to)
		set_rule(r, from, rule);
}

/* Of an FDE's rows what is not another's, which ends at r->end. How many: one at least. */
static size_t trim(const struct frame_rows *r, struct callframe_row **rows, size_t cnt)
{
	for (; cnt > 1 && (*rows)[1].at <= r->end; cnt--)
		++*rows;
	if ((*rows)->at < r->end)
		(*rows)->at = r->end;
	return cnt;
}

static void take_rows(struct callframe_row *rows, size_t cnt, uint64_t end, void *arg)
{
	struct frame_rows *r = arg;

	if (end <= r->end)
		return;
	if (rows->at < r->end)
		cnt = trim(r, &rows, cnt);
	if (!next_mark(r, rows->at, end))
		r->set(rows, cnt, r->arg);
	else
		for (size_t i = 0; i < cnt; i++)
			set_rules(r, rows[i].at, i + 1 < cnt ? rows[i + 1].at : end, rows[i].rule);
	r->end = end;
}

/* Code that is left out is not: the C library's clone() has no CFI between its system call and the
 * child's part. */
static bool is_padding(uint64_t from, uint64_t to)
{
	return to - from <= ALIGNMENT_GAP && to % ALIGNMENT_GAP == 0;
}

/* Those of x86-64 that lie so narrowly have call-frame information. */
static bool find_trampoline(const struct frame_rows *r, uint64_t from, uint64_t to,
			    struct table_mark *found)
{
	const struct table_source *s = r->source;

	return s->find_trampoline && (machine__links(s->machine) || !is_padding(from, to)) &&
	       s->find_trampoline(s->find_arg, from, to, found);
}

/* The return address of a signal handler is where the trampoline begins, and looked up is the place
 * before it, be it in an FDE. */
__attribute__((noinline)) static void fill_gap(struct frame_rows *r, uint64_t to, bool padding)
{
	const struct flat_rule none = { .how = FLAT_NONE };
	uint64_t from = r->end;
	struct table_mark found;

	while (from < to && find_trampoline(r, from, to, &found)) {
		struct flat_rule before = found.rule;

		set_rules(r, from, found.off - 1, none);
		before.flags = FLAT_CALLERS_ONLY;
		set_rule(r, found.off - 1, before);
		set_rule(r, found.off, found.rule);
		from = found.off + found.sz;
		padding = false;
	}
	if (!padding)
		set_rules(r, from, to, none);
}

/* Nearly all are padding, of which there is nothing to say. */
void frame_rows__gap(struct frame_rows *r, uint64_t to)
{
	bool padding = is_padding(r->end, to) && !next_mark(r, r->end, to);

	if (!padding || machine__links(r->source->machine))
		fill_gap(r, to, padding);
}

static const struct table_segment *find_segment(const struct table_source *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->segment_cnt; i++)
		if (vaddr - s->segments[i].vaddr < s->segments[i].sz)
			return &s->segments[i];
	return NULL;
}

bool frame_rows__off(const struct table_source *source, uint64_t vaddr, uint64_t *off)
{
	const struct table_segment *s = find_segment(source, vaddr);

	if (s)
		*off = s->off + (vaddr - s->vaddr);
	return s;
}

/* An address range's part that is in one segment. False: there is none. */
static bool place(const struct table_source *source, uint64_t *start, uint64_t *sz)
{
	const struct table_segment *s = find_segment(source, *start);
	uint64_t in;

	if (!s)
		return false;
	in = *start - s->vaddr;
	*start = s->off + in;
	*sz = *sz < s->sz - in ? *sz : s->sz - in;
	return true;
}

size_t frame_rows__marks(const struct table_source *source, const struct marks *m,
			 struct table_mark *marks)
{
	uint64_t end = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < m->cnt; i++) {
		struct table_mark mark = { m->marks[i].vaddr, m->marks[i].sz, m->marks[i].rule };

		if (!place(source, &mark.off, &mark.sz) || mark.off < end)
			continue;
		marks[cnt++] = mark;
		end = mark.off + mark.sz;
	}
	return cnt;
}

bool frame_rows__place(const struct table_source *source, struct callframe_fde *fde)
{
	return cursor__left(&fde->instructions) <= INSTRUCTIONS_MAX &&
	       place(source, &fde->start, &fde->sz);
}

void frame_rows__fde(struct frame_rows *r, const struct callframe_fde *fde)
{
	if (r->end && fde->start > r->end)
		frame_rows__gap(r, fde->start);
	callframe__rows(fde, r->source->machine, take_rows, r);
}

/* Of the segment in which the last row is. */
static uint64_t end_of_code(const struct frame_rows *r)
{
	for (size_t i = 0; i < r->source->segment_cnt; i++) {
		const struct table_segment *s = &r->source->segments[i];

		if (r->end - s->off < s->sz)
			return s->off + s->sz;
	}
	return r->end;
}

void frame_rows__finish(struct frame_rows *r)
{
	frame_rows__gap(r, end_of_code(r) + ALIGNMENT_GAP + 1); /* no padding: it ends here */
}
