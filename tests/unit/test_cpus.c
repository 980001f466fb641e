// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#include "base/cpus.h"

static void lists_are_parsed(void **state)
{
	static const struct {
		const char *text, *online; /* '1' for each of 8 CPUs */
		int err;
	} cases[] = {
		{ "0\n", "10000000", 0 },
		{ "0-3\n", "11110000", 0 },
		{ "0-1,4,6-7\n", "11001011", 0 },
		{ "6-100\n", "00000011", 0 },
		{ "2000000-4000000000\n", "00000000", 0 },
		{ "\n", "00000000", 0 },
		{ "3-1\n", "00000000", 0 },
		{ "x\n", "00000000", -EINVAL },
		{ "0;1\n", "10000000", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool online[8];

		assert_int_equal(cpus__parse(cases[i].text, online, 8), cases[i].err);
		for (size_t cpu = 0; cpu < 8 && !cases[i].err; cpu++)
			assert_int_equal(online[cpu], cases[i].online[cpu] == '1');
	}
}

static void this_machine_has_online_cpus(void **state)
{
	bool online[4096];
	size_t cnt = 0;

	(void)state;
	assert_int_equal(cpus__online(online, 4096), 0);
	for (size_t i = 0; i < 4096; i++)
		cnt += online[i];
	assert_true(cnt > 0);
}

RUN_TESTS(cmocka_unit_test(lists_are_parsed), cmocka_unit_test(this_machine_has_online_cpus))
