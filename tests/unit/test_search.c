// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include "base/search.h"

static void counts_like_a_linear_search(void **state)
{
	uint32_t v[] = { 1, 3, 3, 3, 8, 9, UINT32_MAX };

	(void)state;
	for (size_t cnt = 0; cnt <= sizeof(v) / sizeof(*v); cnt++) {
		for (uint32_t key = 0; key < 12; key++) {
			size_t below = 0;

			while (below < cnt && v[below] < key)
				below++;
			assert_int_equal(SEARCH_COUNT(v, cnt, e, *e < key), below);
		}
	}
}

static void an_empty_array_may_be_null(void **state)
{
	const uint64_t *none = NULL;

	(void)state;
	assert_int_equal(SEARCH_COUNT(none, 0, e, *e < 1), 0);
}

RUN_TESTS(cmocka_unit_test(counts_like_a_linear_search),
	  cmocka_unit_test(an_empty_array_may_be_null))
