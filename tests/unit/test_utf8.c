// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <string.h>

#include "base/utf8.h"

#define BAD "\xef\xbf\xbd"

static void same(void (*append)(struct buf *, const char *, size_t), const char *in,
		 const char *expected)
{
	struct buf out = { 0 };

	append(&out, in, strlen(in));
	buf__u8(&out, 0);
	assert_int_equal(buf__err(&out), 0);
	assert_string_equal((const char *)out.data, expected);
	buf__free(&out);
}

static void well_formed_stays(void **state)
{
	(void)state;
	same(utf8__sanitize, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n",
	     "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n");
	same(utf8__sanitize, "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
	     "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

static void the_rest_is_replaced(void **state)
{
	(void)state;
	same(utf8__sanitize,
	     "a\xff"
	     "b",
	     "a" BAD "b");
	same(utf8__sanitize, "\xc3", BAD);
	same(utf8__sanitize, "\xe2\x82", BAD);
	same(utf8__sanitize, "\xc0\x80", BAD BAD);		   /* overlong */
	same(utf8__sanitize, "\xe0\x9f\xbf", BAD BAD BAD);	   /* overlong */
	same(utf8__sanitize, "\xed\xa0\x80", BAD BAD BAD);	   /* a surrogate */
	same(utf8__sanitize, "\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
	same(utf8__sanitize, "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD);
}

/* They could make a name look like another one. */
static void text_keeps_its_order_on_a_terminal(void **state)
{
	(void)state;
	same(utf8__sanitize_printable,
	     "a\xe2\x80\xaa\xe2\x80\xae"
	     "b\xe2\x81\xa6\xe2\x81\xa9",
	     "a??b??");
	same(utf8__sanitize_printable, "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "???");
	same(utf8__sanitize_printable,
	     "\xe2\x80\x8d\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b",
	     "\xe2\x80\x8d\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b");
}

/* Text is checked a word at a time. */
static void wherever_it_stands(void **state)
{
	char text[40];

	(void)state;
	for (size_t at = 0; at < 20; at++) {
		memset(text, 'a', sizeof(text));
		assert_int_equal(utf8__valid(text, at), at);
		memcpy(text + at, "\xe2\x82\xac", 3);
		assert_int_equal(utf8__valid(text, sizeof(text)), sizeof(text));
		assert_int_equal(utf8__valid(text, at + 2), at);
		text[at + 20] = '\xff';
		assert_int_equal(utf8__valid(text, sizeof(text)), at + 20);
	}
}

static void controls_are_not_printed(void **state)
{
	(void)state;
	same(utf8__sanitize_printable, "a\x1b[31m\n\x7f\xc2\x9b\xc2\xa0", "a?[31m???\xc2\xa0");
	same(utf8__sanitize_lines, "a\x1b[31m\n\r\n\nb\x7f", "a?[31m\n?\n\nb?");
	same(utf8__sanitize_lines, "a\n", "a\n");
	same(utf8__sanitize_lines, "", "");
}

static void counts_code_points(void **state)
{
	const char *s = "a\xc3\xa9\xe2\x82\xac";

	(void)state;
	assert_int_equal(utf8__cnt(s, strlen(s)), 3);
	assert_int_equal(utf8__prefix(s, strlen(s), 0), 0);
	assert_int_equal(utf8__prefix(s, strlen(s), 2), 3);
	assert_int_equal(utf8__prefix(s, strlen(s), 9), 6);
}

RUN_TESTS(cmocka_unit_test(text_keeps_its_order_on_a_terminal), cmocka_unit_test(well_formed_stays),
	  cmocka_unit_test(the_rest_is_replaced), cmocka_unit_test(wherever_it_stands),
	  cmocka_unit_test(controls_are_not_printed), cmocka_unit_test(counts_code_points))
