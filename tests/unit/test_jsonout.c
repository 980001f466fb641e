// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON of the page's answers, the parameters of its requests, and its statistics. */
#include "lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stacksexport/web/bootstrap.h"
#include "stacksexport/web/disassembly.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/sqlwords.h"
#include "stacksexport/web/stackrows.h"
#include "stacksexport/web/webparams.h"

static void puts_commas_between_values(void **state)
{
	struct buf b = { 0 };

	(void)state;
	json_out__open(&b, '{');
	json_out__key_int(&b, "a", INT64_MIN);
	json_out__key(&b, "b");
	json_out__open(&b, '[');
	json_out__double(&b, 0.5);
	json_out__double(&b, NAN);
	json_out__double(&b, -INFINITY);
	json_out__bool(&b, true);
	json_out__text(&b, "[,\"\n\xff", 5);
	json_out__open(&b, '{');
	json_out__close(&b, '}');
	json_out__int(&b, 0);
	json_out__close(&b, ']');
	json_out__key_text(&b, "c", NULL);
	json_out__close(&b, '}');
	buf__u8(&b, 0);
	assert_int_equal(buf__err(&b), 0);
	assert_string_equal((const char *)b.data,
			    "{\"a\":-9223372036854775808,\"b\":[0.5,null,null,true,"
			    "\"[,\\\"\\u000a\xef\xbf\xbd\",{},0],\"c\":null}");
	buf__free(&b);
}

static void reads_integers_and_nothing_else(void **state)
{
	static const char *const wrong[] = { "x", "1x", "1.5", "1e3", "9223372036854775808", " " };
	struct query_params p = { 0 };
	int64_t n = 42;

	(void)state;
	assert_int_equal(query_params__int(&p, "n", &n), 0);
	assert_int_equal(n, 42);
	assert_int_equal(query_params__set(&p, "n", "-7"), 0);
	assert_int_equal(query_params__int(&p, "n", &n), 0);
	assert_int_equal(n, -7);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		query_params__set(&p, "n", wrong[i]);
		assert_int_equal(query_params__int(&p, "n", &n), -EINVAL);
	}
	query_params__set(&p, "n", "");
	assert_null(query_params__find(&p, "n"));
	assert_int_equal(p.cnt, 1);
}

static void keeps_a_bounded_number_of_parameters(void **state)
{
	static char names[PARAMS_MAX + 1][8];
	struct query_params p = { 0 };

	(void)state;
	for (int i = 0; i <= PARAMS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		assert_int_equal(query_params__set(&p, names[i], "1"), i < PARAMS_MAX ? 0 : -E2BIG);
	}
}

static void reads_ids_of_one_or_two_stacks(void **state)
{
	static const char *const wrong[] = {
		"",
		"1",
		"0123456789abcdeg",
		"0123456789abcdef-",
		"0123456789abcdef-1",
		"0123456789abcdef+0123456789abcdef",
		"0123456789abcdef-0123456789abcdef-0123456789abcdef",
		" 123456789abcdef",
	};
	struct stack_ids ids;

	(void)state;
	assert_true(stack_ids__parse(&ids, "ffffffffffffffff", 16));
	assert_true(ids.cnt == 1 && ids.ids[0] == UINT64_MAX);
	assert_true(stack_ids__parse(&ids, "0123456789abcdef-0000000000000001", 33));
	assert_true(ids.cnt == 2 && ids.ids[0] == 0x0123456789abcdef && ids.ids[1] == 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(stack_ids__parse(&ids, wrong[i], strlen(wrong[i])));
}

static void knows_statements_that_last_as_long_as_the_connection(void **state)
{
	static const char *const good[] = {
		"CREATE TEMP TABLE t AS SELECT 1",
		"create or replace temporary view v AS SELECT 1",
		" -- a comment\n/* and */ CREATE/**/TEMP MACRO f(a) AS a",
		"SET VARIABLE x = 1",
	};
	static const char *const bad[] = {
		"",
		"CREATE TABLE t AS SELECT 1",
		"CREATE OR REPLACE VIEW v AS SELECT 1",
		"CREATE TEMPTABLE t",
		"CREATE TEMP SECRET s (TYPE s3)",
		"CREATE -- TEMP TABLE\nTABLE t",
		"SET threads = 1",
		"SET GLOBAL VARIABLE x = 1",
		"SETVARIABLE x = 1",
		"SELECT 1",
		"/* CREATE TEMP TABLE t",
		"COPY t TO 'x'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(sql_words__are_temporary(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(sql_words__are_temporary(bad[i]));
}

static void takes_instructions_out_of_what_objdump_prints(void **state)
{
	static const char text[] = "\n/bin/x:     file format elf64-x86-64\n\n"
				   "0000000000001139 <outer>:\n"
				   "    1139:\tpush   %rbp\n"
				   "    113a:\tmov    %rsp,%rbp <a:b>\n"
				   "\t...\n  :\tx\nzz:\ty\n    113d:\tret";
	const char *at = text, *end = text + sizeof(text) - 1;
	struct instruction i;

	(void)state;
	assert_true(instruction__next(&i, &at, end));
	assert_true(i.address == 0x1139 && i.sz == strlen("push   %rbp"));
	assert_memory_equal(i.text, "push   %rbp", i.sz);
	assert_true(instruction__next(&i, &at, end) && i.address == 0x113a);
	assert_true(instruction__next(&i, &at, end) && i.address == 0x113d && i.sz == 3);
	assert_false(instruction__next(&i, &at, end));
}

#define SLICES 40

static void tells_a_change_from_noise(void **state)
{
	int64_t a[SLICES], more[SLICES], same[SLICES];
	struct bootstrap_series change = { a, more, 1 }, noise = { a, same, 1 };
	struct bootstrap_result r[2];
	static struct bootstrap b;
	bool significant[2];

	(void)state;
	for (int i = 0; i < SLICES; i++) {
		a[i] = 100 + i * 7 % 11;
		more[i] = 120 + i * 5 % 11;
		same[i] = 100 + i * 3 % 11;
	}
	assert_int_equal(bootstrap__init(&b, SLICES, SLICES), 0);
	r[0] = bootstrap__compare(&b, &change);
	r[1] = bootstrap__compare(&b, &noise);
	assert_true(r[0].p < 1e-6 && r[0].lo > 0 && r[0].hi > r[0].lo);
	assert_true(r[1].p > 0.05 && r[1].lo < 0 && r[1].hi > 0);
	assert_int_equal(bootstrap__choose(r, 2, significant), 0);
	assert_true(significant[0] && !significant[1]);
	change.b = a; /* equal series differ by nothing but the draws */
	assert_true(bootstrap__compare(&b, &change).p > 0.5);
	bootstrap__free(&b);
}

RUN_TESTS(cmocka_unit_test(puts_commas_between_values),
	  cmocka_unit_test(reads_integers_and_nothing_else),
	  cmocka_unit_test(keeps_a_bounded_number_of_parameters),
	  cmocka_unit_test(reads_ids_of_one_or_two_stacks),
	  cmocka_unit_test(knows_statements_that_last_as_long_as_the_connection),
	  cmocka_unit_test(takes_instructions_out_of_what_objdump_prints),
	  cmocka_unit_test(tells_a_change_from_noise))
