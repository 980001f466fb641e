// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>

#include "stacksexport/duck/params.h"

#define COMMAND "CAST($command AS VARCHAR)"
#define BUILDID "CAST($buildid AS VARCHAR)"

/* Checks that the text is this single statement. */
static void one(const char *text, const char *expected)
{
	struct statements st;

	assert_int_equal(statements__parse(&st, text), 0);
	assert_int_equal(st.cnt, 1);
	assert_string_equal(st.sql[0], expected);
	statements__free(&st);
}

static void bare_and_quoted_parameters_are_replaced(void **state)
{
	(void)state;
	one("a = ?command", "a = " COMMAND);
	one("a = '?command'", "a = (" COMMAND ")");
	one("decode('?buildid', 'hex')", "decode((" BUILDID "), 'hex')");
	one("f(?command,?buildid)", "f(" COMMAND "," BUILDID ")");
}

static void parameters_inside_literals_are_replaced(void **state)
{
	(void)state;
	one("a LIKE '%?command%'", "a LIKE ('%' || " COMMAND " || '%')");
	one("'x?command'", "('x' || " COMMAND ")");
	one("'?commandx'", "(" COMMAND " || 'x')");
	one("'?command?buildid'", "(" COMMAND " || " BUILDID ")");
	one("'it''s ?command'", "('it''s ' || " COMMAND ")");
	one("'''?command'''", "('''' || " COMMAND " || '''')");
	one("E'\\'?command'", "(E'\\'' || " COMMAND ")");
	one("e'a\\\\' || ?command", "e'a\\\\' || " COMMAND);
	one("$$?command's$$", "(" COMMAND " || $$'s$$)");
	one("$t$a?command$t$", "($t$a$t$ || " COMMAND ")");
}

static void other_question_marks_stay(void **state)
{
	(void)state;
	one("SELECT '?', '?comman', \"?command\", ?commands, a?b",
	    "SELECT '?', '?comman', \"?command\", ?commands, a?b");
	one("SELECT 1 -- ?command's\n+ 1", "SELECT 1  \n+ 1");
	one("SELECT /* ?command ' /* nested */ ; */ 1", "SELECT   1");
	one("SELECT '--?', 1", "SELECT '--?', 1");
	one("SELECT $1, $name", "SELECT $1, $name");
	one("SELECT 'naïve'", "SELECT 'naïve'");
}

static void used_parameters_are_reported(void **state)
{
	struct statements st;

	(void)state;
	assert_int_equal(statements__parse(&st, "SELECT '?command' -- ?buildid"), 0);
	assert_true(st.uses[PARAM_COMMAND]);
	assert_false(st.uses[PARAM_BUILDID]);
	statements__free(&st);
}

static void asking_for_null_makes_it_optional(void **state)
{
	static const struct {
		const char *text;
		bool optional;
	} cases[] = {
		{ "'?command' IS NULL OR a = '?command'", true },
		{ "a = ?command OR ?command /* maybe */ is null", true },
		{ "a = ?command AND b IS NULL", false },
		{ "?command || x IS NULL", false },
		{ "?command IS NOT NULL", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct statements st;

		assert_int_equal(statements__parse(&st, cases[i].text), 0);
		assert_true(st.uses[PARAM_COMMAND]);
		assert_true(st.optional[PARAM_COMMAND] == cases[i].optional);
		assert_false(st.optional[PARAM_BUILDID]);
		statements__free(&st);
	}
}

static void several_statements_are_split(void **state)
{
	struct statements st;

	(void)state;
	assert_int_equal(statements__parse(&st, "; SET a = ';';-- x;\nSELECT ?command ;\n/* ; */ "),
			 0);
	assert_int_equal(st.cnt, 2);
	assert_string_equal(st.sql[0], " SET a = ';'");
	assert_string_equal(st.sql[1], " \nSELECT " COMMAND " ");
	statements__free(&st);
	assert_int_equal(statements__parse(&st, " \n-- nothing\n/* here */;"), 0);
	assert_int_equal(st.cnt, 0);
	statements__free(&st);
}

static void unfinished_literals_are_refused(void **state)
{
	static const char *const texts[] = { "'abc",	 "'abc''", "E'abc\\'",
					     "\"abc",	 "/* abc", "/* /* */",
					     "$$ abc $", "$t$ $$", "SELECT 1; 'x" };
	struct statements st;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(statements__parse(&st, texts[i]), -EINVAL);
		assert_null(st.sql);
	}
}

RUN_TESTS(cmocka_unit_test(bare_and_quoted_parameters_are_replaced),
	  cmocka_unit_test(parameters_inside_literals_are_replaced),
	  cmocka_unit_test(other_question_marks_stay),
	  cmocka_unit_test(used_parameters_are_reported),
	  cmocka_unit_test(asking_for_null_makes_it_optional),
	  cmocka_unit_test(several_statements_are_split),
	  cmocka_unit_test(unfinished_literals_are_refused))
