// SPDX-License-Identifier: GPL-2.0-or-later
/* What the limit of a cgroup leaves for the rings. */
#include "collector/memorylimit.h"

#include "lib/test.h"

#define MB (1u << 20)

static void rings_have_a_quarter_of_the_limit(void **state)
{
	(void)state;
	assert_int_equal(memory_limit__ring_sz(SIZE_MAX, 512, 4 * MB, MB / 2), 4 * MB);
	assert_int_equal(memory_limit__ring_sz(128 * MB, 2, 4 * MB, MB / 2), 4 * MB);
	assert_int_equal(memory_limit__ring_sz(128 * MB, 8, 4 * MB, MB / 2), 4 * MB);
	assert_int_equal(memory_limit__ring_sz(128 * MB, 9, 4 * MB, MB / 2), 2 * MB);
	assert_int_equal(memory_limit__ring_sz(128 * MB, 64, 4 * MB, MB / 2), MB / 2);
	assert_int_equal(memory_limit__ring_sz(128 * MB, 512, 4 * MB, MB / 2), MB / 2);
	assert_int_equal(memory_limit__ring_sz(0, 1, 2 * MB, 2 * MB), 2 * MB);
}

RUN_TESTS(cmocka_unit_test(rings_have_a_quarter_of_the_limit))
