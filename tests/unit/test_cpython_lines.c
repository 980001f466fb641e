// SPDX-License-Identifier: GPL-2.0-or-later
/* src/runtime/cpython_code.c: the line tables of CPython 3.11 and later. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fakepython.h"

/* Prints first line, line table, and what co_lines() says of all functions of some modules. */
static const char co_lines[] =
	"import argparse, asyncio.base_events, json.decoder, typing, types\n"
	"def each(c):\n"
	" yield c\n"
	" for k in c.co_consts:\n"
	"  if isinstance(k, types.CodeType): yield from each(k)\n"
	"def all(m):\n"
	" return each(compile(open(m.__file__).read(), m.__file__, \"exec\"))\n"
	"for m in (argparse, asyncio.base_events, json.decoder, typing):\n"
	" for c in all(m):\n"
	"  print(c.co_firstlineno, c.co_linetable.hex(), len(c.co_code),"
	" \" \".join(f\"{a}:{l or 0}\" for a, b, l in c.co_lines()))\n";

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;

	while (sscanf(hex + 2 * n, "%2x", &byte) == 1)
		out[n++] = (uint8_t)byte;
	return n;
}

/* One line of the output: what the table says at each place that co_lines() lists. */
static size_t check_function(char *text, uint8_t *table)
{
	char *first = strtok(text, " "), *hex = strtok(NULL, " "), *sz = strtok(NULL, " "), *place;
	struct script_function f = { .first_line = (uint32_t)atoi(first),
				     .sz = strtoul(sz, NULL, 10) };
	size_t checked = 0;
	unsigned off, line;
	uint32_t found;

	assert_int_equal(cpython__decode_lines(&f, table, unhex(hex, table)), 0);
	while ((place = strtok(NULL, " \n")) != NULL) {
		assert_int_equal(sscanf(place, "%u:%u", &off, &line), 2);
		assert_true(script_function__line(&f, off, &found));
		assert_int_equal(found, line);
		checked++;
	}
	script_function__free(&f);
	return checked;
}

static void decodes_lines_as_python_does(void **state)
{
	static char command[4096], text[1 << 20];
	static uint8_t table[1 << 19];
	size_t checked = 0;
	FILE *python;

	(void)state;
	snprintf(command, sizeof(command),
		 "python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' && python3 -c '%s'",
		 co_lines);
	python = popen(command, "r");
	while (python && fgets(text, sizeof(text), python))
		checked += check_function(text, table);
	if (!python || pclose(python) != 0)
		skip_because("decodes_lines_as_python_does: no python3 from 3.11 on");
	assert_true(checked > 5000);
}

static void ends_with_a_cut_line_table(void **state)
{
	static const uint8_t cut[] = { 0x80, 0x00, 0xf0, 0x41 }, unmarked[] = { 0x80, 0x00, 0x12 };
	static const uint8_t endless[] = { 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct script_function f = { .first_line = 1, .sz = 100 };

	(void)state;
	assert_int_equal(cpython__decode_lines(&f, cut, sizeof(cut)), -EINVAL);
	assert_int_equal(cpython__decode_lines(&f, unmarked, sizeof(unmarked)), -EINVAL);
	assert_int_equal(cpython__decode_lines(&f, endless, sizeof(endless)), -EINVAL);
	assert_int_equal(f.cnt, 1);
	script_function__free(&f);
}

RUN_TESTS(cmocka_unit_test(decodes_lines_as_python_does),
	  cmocka_unit_test(ends_with_a_cut_line_table))
