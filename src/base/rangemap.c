// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/rangemap.h"

#include <errno.h>
#include <stdlib.h>

static int rangemap_compare(const void *pa, const void *pb)
{
	const struct addr_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void rangemap_sort(struct addr_range *spans, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (rangemap_compare(&spans[i - 1], &spans[i]) > 0) {
			qsort(spans, cnt, sizeof(*spans), rangemap_compare);
			return;
		}
}

/* A sweep over the sorted ranges. The stack has the ranges that are open at `pos`, innermost last.
 */
struct sweep {
	struct range_map *map;
	const struct addr_range *spans;
	uint32_t *stack;
	size_t depth;
	uint64_t pos;
};

static void rangemap_emit(struct sweep *s, uint32_t owner)
{
	struct range_map *m = s->map;

	if (m->cnt && m->owners[m->cnt - 1] == owner)
		return;
	m->starts[m->cnt] = s->pos;
	m->owners[m->cnt++] = owner;
}

static void rangemap_advance(struct sweep *s, uint64_t to)
{
	while (s->depth && s->pos < to) {
		const struct addr_range *top = &s->spans[s->stack[s->depth - 1]];

		if (top->end <= s->pos) {
			s->depth--;
			continue;
		}
		rangemap_emit(s, top->owner);
		s->pos = top->end < to ? top->end : to;
	}
	if (s->pos < to)
		rangemap_emit(s, RANGE_NONE);
	s->pos = to;
}

static int rangemap_alloc(struct range_map *m, size_t cnt)
{
	m->cnt = 0;
	m->starts = NULL;
	m->owners = NULL;
	if (cnt >= RANGE_NONE)
		return -ENOMEM;
	m->starts = malloc(cnt * sizeof(*m->starts));
	m->owners = malloc(cnt * sizeof(*m->owners));
	return m->starts && m->owners ? 0 : -ENOMEM;
}

static void rangemap_shrink(struct range_map *m)
{
	uint64_t *starts = realloc(m->starts, (m->cnt + 1) * sizeof(*starts));
	uint32_t *owners = realloc(m->owners, (m->cnt + 1) * sizeof(*owners));

	m->starts = starts ? starts : m->starts;
	m->owners = owners ? owners : m->owners;
}

int range_map__build(struct range_map *m, struct addr_range *spans, size_t cnt)
{
	struct sweep s = { .map = m, .spans = spans };
	/* Each range adds one entry at its start and one at its end. */
	int err = rangemap_alloc(m, 2 * cnt + 1);

	s.stack = malloc((cnt + 1) * sizeof(*s.stack));
	if (!err && !s.stack)
		err = -ENOMEM;
	if (err)
		goto out;
	rangemap_sort(spans, cnt);
	s.pos = cnt ? spans[0].start : UINT64_MAX;
	for (size_t i = 0; i < cnt; i++) {
		if (spans[i].end <= spans[i].start)
			continue;
		rangemap_advance(&s, spans[i].start);
		s.stack[s.depth++] = (uint32_t)i;
	}
	rangemap_advance(&s, UINT64_MAX);
	rangemap_shrink(m);
out:
	free(s.stack);
	return err;
}

void range_map__free(struct range_map *m)
{
	free(m->starts);
	free(m->owners);
	*m = (struct range_map){ 0 };
}

uint32_t range_map__find(const struct range_map *m, uint64_t addr)
{
	size_t lo = 0, n = m->cnt;

	if (n == 0 || addr < m->starts[0])
		return RANGE_NONE;
	while (n > 1) {
		size_t half = n / 2;

		lo = m->starts[lo + half] <= addr ? lo + half : lo;
		n -= half;
	}
	return m->owners[lo];
}
