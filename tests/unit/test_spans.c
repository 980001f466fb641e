// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <stdlib.h>

#include "symbol/spans.h"

/* Innermost: starts last, then shortest, then the highest owner. */
static uint32_t linear(const struct span *spans, size_t cnt, uint64_t addr)
{
	const struct span *best = NULL;

	for (size_t i = 0; i < cnt; i++) {
		const struct span *s = &spans[i];

		if (addr < s->start || addr >= s->end)
			continue;
		if (!best || s->start > best->start ||
		    (s->start == best->start && s->end < best->end) ||
		    (s->start == best->start && s->end == best->end && s->owner > best->owner))
			best = s;
	}
	return best ? best->owner : SPAN_NONE;
}

static void same_as_a_linear_search(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 3000; round++) {
		struct span spans[24], sorted[24];
		size_t cnt = (size_t)(rand() % 24);
		struct span_map m = { 0 };

		for (uint32_t i = 0; i < cnt; i++) {
			uint64_t start = (uint64_t)(rand() % 60);

			spans[i] = (struct span){ start, start + (uint64_t)(rand() % 20), i };
			sorted[i] = spans[i];
		}
		assert_int_equal(span_map__build(&m, sorted, cnt), 0);
		assert_true(m.cnt <= 2 * cnt + 1);
		for (uint64_t addr = 0; addr < 90; addr++)
			assert_int_equal(span_map__find(&m, addr), linear(spans, cnt, addr));
		span_map__free(&m);
	}
}

static void ends_of_the_address_space(void **state)
{
	struct span spans[] = { { 0, 1, 7 }, { UINT64_MAX - 1, UINT64_MAX, 8 }, { 9, 3, 9 } };
	struct span_map m = { 0 };

	(void)state;
	assert_int_equal(span_map__find(&m, 0), SPAN_NONE);
	assert_int_equal(span_map__build(&m, spans, 3), 0);
	assert_int_equal(span_map__find(&m, 0), 7);
	assert_int_equal(span_map__find(&m, 1), SPAN_NONE);
	assert_int_equal(span_map__find(&m, 5), SPAN_NONE);
	assert_int_equal(span_map__find(&m, UINT64_MAX - 1), 8);
	span_map__free(&m);
	span_map__free(&m);
}

RUN_TESTS(cmocka_unit_test(same_as_a_linear_search), cmocka_unit_test(ends_of_the_address_space))
