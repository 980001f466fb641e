// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "stacksexport/moment.h"

#define SECOND 1000000000LL

static void takes_every_form(void **state)
{
	static const struct {
		const char *text;
		enum moment_base base;
		int64_t ns;
	} cases[] = {
		{ "10s", MOMENT_SINCE_START, 10 * SECOND },
		{ "+1.5s", MOMENT_SINCE_START, 1500000000 },
		{ "0", MOMENT_SINCE_START, 0 },
		{ "-30s", MOMENT_BEFORE_END, 30 * SECOND },
		{ "-2m", MOMENT_BEFORE_END, 120 * SECOND },
		{ "1764065443", MOMENT_SINCE_1970, 1764065443 * SECOND },
		{ "1764065443.25", MOMENT_SINCE_1970, 1764065443 * SECOND + SECOND / 4 },
		{ "2025-11-25T10:10:43Z", MOMENT_SINCE_1970, 1764065443 * SECOND },
		{ "2025-11-25 10:10:43.25Z", MOMENT_SINCE_1970, 1764065443 * SECOND + SECOND / 4 },
		{ "2025-11-25T11:10:43+01:00", MOMENT_SINCE_1970, 1764065443 * SECOND },
		/* Local time, five hours behind: TZ below. */
		{ "2025-11-25T05:10:43", MOMENT_SINCE_1970, 1764065443 * SECOND },
		{ "2025-11-25 05:10", MOMENT_SINCE_1970, 1764065400 * SECOND },
		{ "2025-11-25", MOMENT_SINCE_1970, 1764046800 * SECOND },
	};
	struct moment m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(moment__parse(cases[i].text, &m), 0);
		assert_int_equal(m.base, cases[i].base);
		assert_int_equal(m.ns, cases[i].ns);
	}
}

static void refuses_what_is_no_time(void **state)
{
	static const char *const wrong[] = {
		"",
		"-",
		"s",
		"10",
		"-10",
		"10x",
		"--10s",
		"yesterday",
		"2025-11-25T",
		"2025-13-01",
		"10s 5s",
		"1e9",
		"17640654430 s",
		"2025-11-25T10:10:43.Z",
		"2025-11-25T10:10:43+",
		"9999999999999999999",
		"-99999999h",
		"9999999h",
		"1969-01-01T00:00:00Z",
	};
	struct moment m;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_not_equal(moment__parse(wrong[i], &m), 0);
}

static void resolves_against_both_ends(void **state)
{
	struct moment since = { MOMENT_SINCE_START, 10 }, before = { MOMENT_BEFORE_END, 10 },
		      absolute = { MOMENT_SINCE_1970, 10 };

	(void)state;
	assert_int_equal(moment__resolve(&since, 1000, 5000), 1010);
	assert_int_equal(moment__resolve(&before, 1000, 5000), 4990);
	assert_int_equal(moment__resolve(&absolute, 1000, 5000), 10);
}

static void formats_local_time(void **state)
{
	char text[MOMENT_TEXT_SZ];

	(void)state;
	moment__format(1764065443 * SECOND, text);
	assert_string_equal(text, "2025-11-25 05:10:43 -0500");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_every_form),
		cmocka_unit_test(refuses_what_is_no_time),
		cmocka_unit_test(resolves_against_both_ends),
		cmocka_unit_test(formats_local_time),
	};

	setenv("TZ", "EST5", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
