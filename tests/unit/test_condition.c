// SPDX-License-Identifier: GPL-2.0-or-later
/* The conditions that trigger the flight recorder. */
#include "collector/condition.h"

#include <errno.h>

#include "lib/test.h"

#define S 1000000000ull

static void conditions_are_parsed(void **state)
{
	struct condition c;

	(void)state;
	assert_int_equal(condition__parse("cpu > 90 % for 5s", &c), 0);
	assert_true(c.of == CONDITION_CPU && c.above == 90 && c.for_ns == 5 * S);
	assert_int_equal(condition__parse("memory>2G", &c), 0);
	assert_true(c.of == CONDITION_MEMORY && c.above == 2ull << 30 && c.for_ns == 0);
	assert_int_equal(condition__parse("span > 500ms", &c), 0);
	assert_true(c.of == CONDITION_SPAN && c.above == S / 2);
}

static void mistakes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"cpu",
		"cpu > ",
		"cpu > 90",
		"cpu < 90%",
		"disk > 90%",
		"cpu > 90% for",
		"cpu > 90% for 5",
		"memory > 2G x",
		"span > 5s for 5s",
		"cpu > 90% for 5s x",
		"> 5",
		"cpu > 90% for "
		"5ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss",
	};
	struct condition c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(condition__parse(wrong[i], &c), -EINVAL);
}

static void fires_once_for_each_time_that_it_holds(void **state)
{
	struct condition c;

	(void)state;
	assert_int_equal(condition__parse("cpu > 90% for 2s", &c), 0);
	assert_false(condition__fires(&c, 95, 10 * S));
	assert_false(condition__fires(&c, 95, 11 * S));
	assert_true(condition__fires(&c, 95, 12 * S));
	assert_false(condition__fires(&c, 95, 20 * S));
	assert_false(condition__fires(&c, 90, 21 * S));
	assert_false(condition__fires(&c, 91, 22 * S));
	assert_false(condition__fires(&c, 90, 23 * S)); /* too short */
	assert_false(condition__fires(&c, 91, 24 * S));
	assert_true(condition__fires(&c, 91, 26 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_parsed),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(fires_once_for_each_time_that_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
