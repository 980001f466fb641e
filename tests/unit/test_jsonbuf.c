// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON: hostile strings, and numbers without rounding. */
#include "lib/test.h"

#include <string.h>

#include "base/jsonbuf.h"

#define assert_json(expected, call)                                \
	do {                                                       \
		struct buf out = { 0 };                            \
		call;                                              \
		buf__u8(&out, 0);                                  \
		assert_string_equal((char *)out.data, (expected)); \
		buf__free(&out);                                   \
	} while (0)

static void strings_are_escaped(void **state)
{
	static const struct {
		const char *s, *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\x01\n\t\x1f\x7f", "\"\\u0001\\u000a\\u0009\\u001f\\u007f\"" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ "a\xff\"b\xc3", "\"a\xef\xbf\xbd\\\"b\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_json(cases[i].json, jsonbuf__str(&out, cases[i].s, strlen(cases[i].s)));
	assert_json("\"a\\u0000b\"", jsonbuf__str(&out, "a\0b", 3));
}

static void numbers_are_formatted(void **state)
{
	(void)state;
	assert_json("0", jsonbuf__int(&out, 0));
	assert_json("-9223372036854775808", jsonbuf__int(&out, INT64_MIN));
	assert_json("0.000", jsonbuf__micros(&out, 0));
	assert_json("0.007", jsonbuf__micros(&out, 7));
	assert_json("1234.567", jsonbuf__micros(&out, 1234567));
	assert_json("18446744073709551.615", jsonbuf__micros(&out, UINT64_MAX));
}

RUN_TESTS(cmocka_unit_test(strings_are_escaped), cmocka_unit_test(numbers_are_formatted))
