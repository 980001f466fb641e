// SPDX-License-Identifier: GPL-2.0-or-later
/* The text in which runtimes list their functions. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "lib/codefile_scene.h"
#include "lib/codemap_scene.h"
#include "jit/perfmap.h"

static void lines_are_parsed(void **state)
{
	static const struct {
		const char *line, *name; /* NULL: not a function */
		uint64_t start, sz;
	} cases[] = {
		{ "7f00 1a name", "name", 0x7f00, 0x1a },
		{ "0x7f00 0X1A  a name with blanks ", "a name with blanks ", 0x7f00, 0x1a },
		{ "7f00 1a x\r", "x", 0x7f00, 0x1a },
		{ "7f00 1a", NULL, 0, 0 },
		{ "7f00 1a ", NULL, 0, 0 },
		{ "7f00 name", NULL, 0, 0 },
		{ " 7f00 1a name", NULL, 0, 0 },
		{ "7f00 1a \r", NULL, 0, 0 },
		{ "10000000000000000 1 name", NULL, 0, 0 },
		{ "0x 1 name", NULL, 0, 0 },
		{ "", NULL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *line = strdup(cases[i].line);
		struct code c;

		assert_int_equal(perfmap__line(line, &c), cases[i].name != NULL);
		if (cases[i].name) {
			assert_string_equal(c.name, cases[i].name);
			assert_int_equal(c.start, cases[i].start);
			assert_int_equal(c.sz, cases[i].sz);
		}
		free(line);
	}
}

/* A runtime that never stops compiling: its latest functions are the ones that run. */
static void the_newest_of_a_large_map_are_kept(void **state)
{
	const uint64_t cnt = (1u << 19) + 1000;
	struct codemap *m = codemap__new();
	struct code_progress p = { 0 };
	struct buf text = { 0 };
	int fd = text_file();
	char name[16];

	(void)state;
	for (uint64_t i = 0; i < cnt; i++)
		buf__printf(&text, "%llx 10 f%llu\n", 0x100000ull + i * 16, (unsigned long long)i);
	append(fd, (const char *)text.data, text.sz);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	for (uint64_t i = cnt - 200000; i < cnt; i++) {
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		assert_string_equal(at(m, 0x100000 + i * 16, 0), name);
	}
	append(fd, "100000 10 again\n", 16);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	assert_string_equal(at(m, 0x100000, 0), "again");
	buf__free(&text);
	close(fd);
	codemap__free(m);
}

static void a_map_is_read_as_it_grows(void **state)
{
	struct codemap *m = codemap__new();
	struct code_progress p = { 0 };
	char *line = malloc(200000);
	int fd = text_file();

	(void)state;
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	append(fd, "1000 10 a\n2000 10 b", 19);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	assert_string_equal(at(m, 0x1000, 0), "a");
	assert_string_equal(at(m, 0x2000, 0), ""); /* its name may be incomplete */
	append(fd, "c\nnonsense\n1000 10 d\n", 21);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	assert_string_equal(at(m, 0x1000, 0), "d");
	assert_string_equal(at(m, 0x2000, 0), "bc");
	/* A line that is too long is skipped. */
	memset(line, 'x', 200000);
	memcpy(line, "3000 10 ", 8);
	append(fd, line, 200000);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	append(fd, "\n4000 10 e\n", 11);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), 0);
	assert_string_equal(at(m, 0x3000, 0), "");
	assert_string_equal(at(m, 0x4000, 0), "e");
	/* Another text in its place. */
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, line, 200000);
	append(fd, line, 200000);
	assert_int_equal(code_read(NULL, CODE_MAP, fd, &p, m), -ESTALE);
	codemap__free(m);
	free(line);
	close(fd);
}

RUN_TESTS(cmocka_unit_test(lines_are_parsed), cmocka_unit_test(the_newest_of_a_large_map_are_kept),
	  cmocka_unit_test(a_map_is_read_as_it_grows))
