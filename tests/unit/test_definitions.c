// SPDX-License-Identifier: GPL-2.0-or-later
/* Views and macros are made when a statement mentions them: what they need first, each once. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stacksexport/duck/definitions.h"

struct log {
	char made[256];
	int err;
};

/* "CREATE VIEW a AS …" is logged as its last word. */
static int log_last_word(const char *statement, void *arg)
{
	struct log *l = arg;
	size_t at = strlen(l->made);

	snprintf(l->made + at, sizeof(l->made) - at, "%s ", strrchr(statement, '/') + 1);
	return l->err;
}

/* Makes what the text mentions; gives the new entries of the log. */
static const char *make(struct definitions *d, const char *sql)
{
	static struct log l;

	l = (struct log){ 0 };
	assert_int_equal(definitions__make(d, sql, log_last_word, &l), 0);
	return l.made;
}

static struct definitions *views(const char *const *statements, size_t cnt)
{
	struct definitions *d = definitions__new();

	assert_non_null(d);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(definitions__keep(d, statements[i]), 1);
	return d;
}

#define VIEWS(...)                                  \
	views((const char *const[]){ __VA_ARGS__ }, \
	      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void what_is_mentioned_is_made_first_and_once(void **state)
{
	struct definitions *d = VIEWS("CREATE OR REPLACE VIEW top AS FROM middle, low --/top",
				      "create view Middle as from LOW --/middle",
				      "CREATE MACRO low(x) AS TABLE FROM query_table(x) --/low",
				      "CREATE VIEW other AS SELECT 1 --/other");

	(void)state;
	assert_string_equal(make(d, "SELECT lower(topmost), middle_x FROM nothing"), "");
	assert_string_equal(make(d, "SELECT * FROM Top"), "low middle top ");
	assert_string_equal(make(d, "SELECT * FROM top, middle, low('a')"), "");
	assert_true(definitions__has_more(d));
	assert_string_equal(make(d, "SHOW TABLES"), "other ");
	assert_false(definitions__has_more(d));
	definitions__free(d);
}

static void literals_that_are_a_name_count(void **state)
{
	static const struct {
		const char *sql, *made;
	} cases[] = {
		{ "FROM query_table('rss')", "rss " },
		{ "FROM f('a', 'rss')", "rss " },
		{ "FROM x WHERE kind = 'rss'", "" },
		{ "FROM x WHERE kind='rss'", "" },
		{ "FROM read_parquet('/d/rss.parquet')", "" },
		{ "FROM p('rss-1')", "" },
		{ "FROM f($$SELECT 1 FROM rss$$)", "rss " },
		{ "rss", "rss " },
		{ "'rss", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct definitions *d = VIEWS("CREATE VIEW rss AS SELECT 1 --/rss");

		assert_string_equal(make(d, cases[i].sql), cases[i].made);
		definitions__free(d);
	}
}

static void a_later_definition_replaces_one_of_its_name(void **state)
{
	struct definitions *d = VIEWS("CREATE VIEW a AS SELECT 1 --/old",
				      "CREATE OR REPLACE VIEW a AS SELECT 2 --/new",
				      "CREATE VIEW IF NOT EXISTS a AS SELECT 3 --/none");

	(void)state;
	assert_string_equal(make(d, "FROM a"), "new ");
	assert_int_equal(definitions__keep(d, "CREATE OR REPLACE VIEW a AS SELECT 4 --/newer"), 1);
	assert_string_equal(make(d, "FROM a"), "newer ");
	definitions__free(d);
}

static void other_statements_are_for_the_caller(void **state)
{
	static const char *const others[] = { "CREATE TABLE a AS SELECT 1",
					      "CREATE VIEW page.a AS SELECT 1",
					      "CREATE OR VIEW a",
					      "CREATE TEMP VIEW a AS SELECT 1",
					      "CREATE VIEW",
					      "CREATE",
					      "SELECT 1",
					      "" };
	struct definitions *d = definitions__new();

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(definitions__keep(d, others[i]), 0);
	assert_false(definitions__has_more(d));
	definitions__free(d);
}

static void the_first_failure_is_given_back(void **state)
{
	struct definitions *d = VIEWS("CREATE VIEW a AS FROM b --/a", "CREATE VIEW b AS 1 --/b");
	struct log l = { .err = -EINVAL };

	(void)state;
	assert_int_equal(definitions__make_all(d, log_last_word, &l), -EINVAL);
	assert_string_equal(l.made, "b ");
	assert_string_equal(make(d, "FROM a"), "b a "); /* it is tried again */
	definitions__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_mentioned_is_made_first_and_once),
		cmocka_unit_test(literals_that_are_a_name_count),
		cmocka_unit_test(a_later_definition_replaces_one_of_its_name),
		cmocka_unit_test(other_statements_are_for_the_caller),
		cmocka_unit_test(the_first_failure_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
