// SPDX-License-Identifier: GPL-2.0-or-later
/* The file in which runtimes record their code. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "lib/codefile_scene.h"
#include "lib/codemap_scene.h"
#include "jit/jitdump.h"
#include "lib/jitdump_scene.h"

static void put_move(struct buf *b, uint64_t from, uint64_t to, uint64_t time_ns)
{
	put_prefix(b, 1, 64, time_ns);
	buf__u64(b, 1);
	buf__u64(b, to);
	buf__u64(b, from);
	buf__u64(b, to);
	buf__u64(b, 16);
	buf__u64(b, 1);
}

static void a_dump_is_read_as_it_grows(void **state)
{
	struct codemap *m = codemap__new();
	struct code_progress d = { 0 };
	struct buf b = { 0 };
	int fd = text_file();

	(void)state;
	put_header(&b, 0);
	put_load(&b, "a", 0x1000, 10);
	put_prefix(&b, 77, 16 + 100000, 11); /* whatever it is */
	for (int i = 0; i < 100000; i++)
		buf__u8(&b, 0xff);
	put_move(&b, 0x1000, 0x2000, 20);
	put_load(&b, "b", 0x1000, 30);
	/* Byte by byte at the start: no record is used before it is complete. */
	for (size_t i = 0; i < 200; i++) {
		append(fd, b.data + i, 1);
		assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), 0);
		assert_int_equal(codemap__cnt(m), i >= 40 + 56 + 2 + 16 - 1);
	}
	append(fd, b.data + 200, b.sz - 201);
	assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), 0);
	assert_int_equal(codemap__cnt(m), 2);
	append(fd, b.data + b.sz - 1, 1);
	assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), 0);
	assert_string_equal(at(m, 0x1000, 29), "a");
	assert_string_equal(at(m, 0x1000, 30), "b");
	assert_string_equal(at(m, 0x2008, 20), "a");
	buf__free(&b);
	codemap__free(m);
	close(fd);
}

static void assert_frames(const struct codemap *m, uint64_t addr, const char *frames)
{
	struct code c;

	assert_true(codemap__find(m, addr, 100, &c));
	assert_int_equal(c.frames_sz, strlen(frames));
	if (c.frames_sz)
		assert_memory_equal(c.frames, frames, c.frames_sz);
}

/* They belong to the next function, which may be written much later. */
static void dumps_have_call_frame_information(void **state)
{
	struct codemap *m = codemap__new();
	struct code_progress d = { 0 };
	struct buf b = { 0 };
	int fd = text_file();

	(void)state;
	put_header(&b, 0);
	put_frames(&b, "\1\x1b header", "FRAMES of a", false);
	put_load(&b, "a", 0x1000, 10);
	put_load(&b, "none", 0x2000, 10);
	put_frames(&b, "\1\x1b header", "of b", true);
	put_load(&b, "b", 0x3000, 10);
	put_frames(&b, "", "of c", false);
	put_load(&b, "c", 0x4000, 10);
	put_frames(&b, "lost", "", false);
	put_load(&b, "lost", 0x5000, 10);
	for (size_t i = 0; i < b.sz; i++) {
		append(fd, b.data + i, 1);
		assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), 0);
	}
	assert_int_equal(codemap__cnt(m), 5);
	assert_frames(m, 0x1000, "FRAMES of a");
	assert_frames(m, 0x2000, "");
	assert_frames(m, 0x3000, "of b");
	assert_frames(m, 0x4000, "of c");
	assert_frames(m, 0x5000, "");
	buf__free(&b);
	codemap__free(m);
	close(fd);
}

static void times_of_another_clock_are_ignored(void **state)
{
	struct codemap *m = codemap__new();
	struct code_progress d = { 0 };
	struct buf b = { 0 };
	int fd = text_file();

	(void)state;
	put_header(&b, 1);
	put_load(&b, "a", 0x1000, UINT64_MAX / 2);
	put_load(&b, "b", 0x1000, UINT64_MAX / 2 + 1);
	put_move(&b, 0x1000, 0x3000, UINT64_MAX / 2 + 2);
	append(fd, b.data, b.sz);
	assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), 0);
	assert_string_equal(at(m, 0x1000, 1), "b");
	assert_string_equal(at(m, 0x3000, 1), "b");
	buf__free(&b);
	codemap__free(m);
	close(fd);
}

static void broken_dumps_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int err;
	} cases[] = {
		{ 0, 'J', -EBADMSG }, /* the other byte order, say */
		{ 4, 2, -EBADMSG },   /* version */
		{ 8, 39, -EBADMSG },  /* header's size */
		{ 44, 15, -EBADMSG }, /* a record's size */
		{ 47, 0xff, 0 },      /* it ends far after the file */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct codemap *m = codemap__new();
		struct code_progress d = { 0 };
		struct buf b = { 0 };
		int fd = text_file();

		put_header(&b, 0);
		put_load(&b, "a", 0x1000, 10);
		b.data[cases[i].at] = cases[i].byte;
		append(fd, b.data, b.sz);
		assert_int_equal(code_read(NULL, CODE_DUMP, fd, &d, m), cases[i].err);
		assert_int_equal(codemap__cnt(m), 0);
		buf__free(&b);
		codemap__free(m);
		close(fd);
	}
}

RUN_TESTS(cmocka_unit_test(a_dump_is_read_as_it_grows),
	  cmocka_unit_test(dumps_have_call_frame_information),
	  cmocka_unit_test(times_of_another_clock_are_ignored),
	  cmocka_unit_test(broken_dumps_are_refused))
