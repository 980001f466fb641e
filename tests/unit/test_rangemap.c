// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>

#include "base/rangemap.h"

/* Innermost: starts last, then shortest, then the highest owner. */
static uint32_t linear(const struct addr_range *spans, size_t cnt, uint64_t addr)
{
	const struct addr_range *best = NULL;

	for (size_t i = 0; i < cnt; i++) {
		const struct addr_range *s = &spans[i];

		if (addr < s->start || addr >= s->end)
			continue;
		if (!best || s->start > best->start ||
		    (s->start == best->start && s->end < best->end) ||
		    (s->start == best->start && s->end == best->end && s->owner > best->owner))
			best = s;
	}
	return best ? best->owner : RANGE_NONE;
}

static void look_ups_equal_a_linear_search(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 3000; round++) {
		struct addr_range spans[24], sorted[24];
		size_t cnt = (size_t)(rand() % 24);
		struct range_map m = { 0 };

		for (uint32_t i = 0; i < cnt; i++) {
			uint64_t start = (uint64_t)(rand() % 60);

			spans[i] = (struct addr_range){ start, start + (uint64_t)(rand() % 20), i };
			sorted[i] = spans[i];
		}
		assert_int_equal(range_map__build(&m, sorted, cnt), 0);
		assert_true(m.cnt <= 2 * cnt + 1);
		for (uint64_t addr = 0; addr < 90; addr++)
			assert_int_equal(range_map__find(&m, addr), linear(spans, cnt, addr));
		range_map__free(&m);
	}
}

static void the_ends_of_the_address_space_are_handled(void **state)
{
	struct addr_range spans[] = { { 0, 1, 7 }, { UINT64_MAX - 1, UINT64_MAX, 8 }, { 9, 3, 9 } };
	struct range_map m = { 0 };

	(void)state;
	assert_int_equal(range_map__find(&m, 0), RANGE_NONE);
	assert_int_equal(range_map__build(&m, spans, 3), 0);
	assert_int_equal(range_map__find(&m, 0), 7);
	assert_int_equal(range_map__find(&m, 1), RANGE_NONE);
	assert_int_equal(range_map__find(&m, 5), RANGE_NONE);
	assert_int_equal(range_map__find(&m, UINT64_MAX - 1), 8);
	range_map__free(&m);
	range_map__free(&m);
}

RUN_TESTS(cmocka_unit_test(look_ups_equal_a_linear_search),
	  cmocka_unit_test(the_ends_of_the_address_space_are_handled))
