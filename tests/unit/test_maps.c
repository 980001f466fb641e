// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/maps.h"

struct seen {
	size_t cnt;
	struct record_mmap last;
	char path[5000];
};

static void see(const struct record_mmap *m, void *arg)
{
	struct seen *s = arg;

	s->cnt++;
	s->last = *m;
	snprintf(s->path, sizeof(s->path), "%s", m->path);
}

/* Parses a copy, so that the sanitizer checks its end. */
static struct seen parse(const char *text, size_t *used)
{
	size_t sz = strlen(text);
	char *copy = malloc(sz);
	struct seen s = { 0 };

	memcpy(copy, text, sz);
	*used = maps__parse(copy, sz, see, &s);
	free(copy);
	return s;
}

static void reads_a_line(void **state)
{
	struct seen s;
	size_t used;

	(void)state;
	s = parse("7f5094de0000-7f5094f36000 r-xp 00026000 fd:0a 1234567890123      "
		  "/usr/lib/libc.so.6\n",
		  &used);
	assert_int_equal(s.cnt, 1);
	assert_int_equal(s.last.start, 0x7f5094de0000);
	assert_int_equal(s.last.len, 0x156000);
	assert_int_equal(s.last.pgoff, 0x26000);
	assert_int_equal(s.last.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(s.last.maj, 0xfd);
	assert_int_equal(s.last.min, 0x0a);
	assert_int_equal(s.last.ino, 1234567890123);
	assert_int_equal(s.last.build_id.sz, 0);
	assert_string_equal(s.path, "/usr/lib/libc.so.6");
}

static void paths_are_whole(void **state)
{
	static const char *const paths[][2] = {
		{ "", "" },
		{ "[vdso]", "[vdso]" },
		{ "/a b/c  d", "/a b/c  d" },
		{ "/x (deleted)", "/x (deleted)" },
		{ "/new\\012line\\012", "/new\nline\n" },
		{ "/back\\slash\\01", "/back\\slash\\01" },
		{ "[anon: r-xp 00000000]", "[anon: r-xp 00000000]" },
		{ "/\xff\xfe", "/\xff\xfe" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char line[128];
		struct seen s;
		size_t used;

		snprintf(line, sizeof(line), "1000-2000 rwxp 00000000 00:00 0 %s\n", paths[i][0]);
		s = parse(line, &used);
		assert_int_equal(s.cnt, 1);
		assert_string_equal(s.path, paths[i][1]);
		assert_int_equal(used, strlen(line));
	}
}

static void passes_over_the_rest(void **state)
{
	static const char *const lines[] = {
		"1000-2000 rw-p 00000000 00:00 0 \n",
		"2000-1000 r-xp 00000000 00:00 0 \n",
		"1000-1000 r-xp 00000000 00:00 0 \n",
		"1000 2000 r-xp 00000000 00:00 0 \n",
		"1000-2000\n",
		"1000-2000 \n",
		"1000-2000 r-x\n",
		"1000-2000 r-xp\n",
		"1000-2000 r-xp 0 00\n",
		"1000-2000 r-xp 0 00:00\n",
		"1000-2000 r-xp 0 00:00 \n",
		"1000-2000 r-xp zz 00:00 0 \n",
		"-2000 r-xp 0 00:00 0 \n",
		"100000000000000000000000000-2 r-xp 0 00:00 0 \n",
		"\n",
		"r-xp\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t used;

		assert_int_equal(parse(lines[i], &used).cnt, 0);
		assert_int_equal(used, strlen(lines[i]));
	}
}

static void a_cut_line_waits(void **state)
{
	const char *text = "1000-2000 r-xp 00000000 00:00 0 /a\n3000-4000 r-xp 00000000 00:00 0 /b";
	struct seen s;
	size_t used;

	(void)state;
	s = parse(text, &used);
	assert_int_equal(s.cnt, 1);
	assert_string_equal(s.path, "/a");
	assert_int_equal(used, strchr(text, '\n') + 1 - text);
}

/* More than one read, with lines at every offset of its edge. */
static void reads_a_long_file(void **state)
{
	FILE *f = tmpfile();
	struct seen s = { 0 };

	(void)state;
	for (unsigned i = 0; i < 30000; i++)
		fprintf(f, "%x000-%x000 r-%cp 00000000 00:00 0 /lib/%.*s\n", i + 1, i + 2,
			i % 3 ? '-' : 'x', (int)(i % 90),
			"123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
			"123456789 123456789 ");
	fputs("3a98000-3a99000 r-xp 00000000 00:00 0 /cut", f);
	rewind(f);
	assert_int_equal(maps__read(fileno(f), see, &s), 0);
	assert_int_equal(s.cnt, 10000);
	fclose(f);
}

static void errors_are_reported(void **state)
{
	FILE *f = tmpfile();
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(maps__read(-1, see, &s), -EBADF);
	for (int i = 0; i < 70000; i++)
		fputc('x', f);
	rewind(f);
	assert_int_equal(maps__read(fileno(f), see, &s), -EINVAL);
	fclose(f);
}

RUN_TESTS(cmocka_unit_test(reads_a_line), cmocka_unit_test(paths_are_whole),
	  cmocka_unit_test(passes_over_the_rest), cmocka_unit_test(a_cut_line_waits),
	  cmocka_unit_test(reads_a_long_file), cmocka_unit_test(errors_are_reported))
