// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>

#include "base/parse.h"

static void sizes_are_parsed(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "64K", 0, 65536 },
		{ "1M", 0, 1048576 },
		{ "2G", 0, 2147483648 },
		{ "", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "12abc", -EINVAL, 0 },
		{ "1.5M", -EINVAL, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "17179869184G", -ERANGE, 0 },
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(parse__size(cases[i].text, &v), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(v, cases[i].bytes);
	}
}

static void durations_are_parsed(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t ns;
	} cases[] = {
		{ "0", 0, 0 },
		{ "0s", 0, 0 },
		{ "10us", 0, 10000 },
		{ "20ms", 0, 20000000 },
		{ "1.5s", 0, 1500000000 },
		{ "0.25ms", 0, 250000 },
		{ "2m", 0, 120000000000 },
		{ "1h", 0, 3600000000000 },
		{ "1.5d", 0, 129600000000000 },
		{ "5", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1sec", -EINVAL, 0 },
		{ "9999999999h", -ERANGE, 0 },
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(parse__duration(cases[i].text, &v), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(v, cases[i].ns);
	}
}

static void percentages_are_parsed(void **state)
{
	uint64_t v;

	(void)state;
	assert_int_equal(parse__percent("10%", &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(parse__percent("100%", &v), 0);
	assert_int_equal(parse__percent("0%", &v), -ERANGE);
	assert_int_equal(parse__percent("101%", &v), -ERANGE);
	assert_int_equal(parse__percent("10", &v), -EINVAL);
	assert_int_equal(parse__percent("10%%", &v), -EINVAL);
	assert_int_equal(parse__percent("%", &v), -EINVAL);
}

RUN_TESTS(cmocka_unit_test(percentages_are_parsed), cmocka_unit_test(sizes_are_parsed),
	  cmocka_unit_test(durations_are_parsed))
