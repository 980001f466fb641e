// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "stacksexport/printer.h"

static void prints(size_t width, const char *expected)
{
	struct printer *p = printer__new(3, (const bool[]){ true, false, false });
	char *text = NULL;
	size_t sz = 0;
	FILE *out = open_memstream(&text, &sz);

	assert_non_null(p);
	printer__cell(p, "n", 1);
	printer__cell(p, "command", 7);
	printer__cell(p, "function", 8);
	printer__cellf(p, "%d", 12345);
	printer__cell(p,
		      "b\xc3\xa9"
		      "e",
		      4);
	printer__cell(p, "a_rather_long_function", 22);
	printer__cellf(p, "%d", 7);
	printer__cell(p, "a\nb", 3);
	printer__cell(p, "", 0);
	assert_int_equal(printer__print(p, out, width), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	printer__free(p);
}

static void columns_are_aligned(void **state)
{
	(void)state;
	prints(0, "    n  command  function\n"
		  "12345  b\xc3\xa9"
		  "e      a_rather_long_function\n"
		  "    7  a?b      \n");
}

static void names_are_cut_to_the_width(void **state)
{
	(void)state;
	prints(30, "    n  command  function\n"
		   "12345  b\xc3\xa9"
		   "e      a_rather_long…\n"
		   "    7  a?b      \n");
}

static void names_stay_readable(void **state)
{
	(void)state;
	prints(24, "    n  command  function\n"
		   "12345  b\xc3\xa9"
		   "e      a_rathe…\n"
		   "    7  a?b      \n");
}

/* The lines wrap anyway. */
static void lines_that_cannot_fit_are_complete(void **state)
{
	(void)state;
	prints(1, "    n  command  function\n"
		  "12345  b\xc3\xa9"
		  "e      a_rather_long_function\n"
		  "    7  a?b      \n");
}

RUN_TESTS(cmocka_unit_test(columns_are_aligned), cmocka_unit_test(names_are_cut_to_the_width),
	  cmocka_unit_test(names_stay_readable),
	  cmocka_unit_test(lines_that_cannot_fit_are_complete))
