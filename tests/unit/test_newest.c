// SPDX-License-Identifier: GPL-2.0-or-later
/* How old a recording is, for people. */
#include "lib/test.h"

#include "stacksexport/newest.h"

static void the_age_has_a_unit_that_suits_it(void **state)
{
	static const struct {
		time_t ago_s;
		const char *age;
	} cases[] = {
		{ -5, "0 s ago" },	{ 0, "0 s ago" },	  { 119, "119 s ago" },
		{ 120, "2 min ago" },	{ 7199, "119 min ago" },  { 7200, "2 h ago" },
		{ 172799, "47 h ago" }, { 172800, "2 days ago" }, { 8640000, "100 days ago" },
	};
	char age[NEWEST_AGE_SZ];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		newest__age(1800000000 - cases[i].ago_s, 1800000000, age);
		assert_string_equal(age, cases[i].age);
	}
}

RUN_TESTS(cmocka_unit_test(the_age_has_a_unit_that_suits_it))
