// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of generated code, and the formats that describe it. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/monotonic.h"
#include "jit/codemap.h"
#include "jit/jitdump.h"
#include "jit/perfmap.h"

/* ---- functions by address and time --------------------------------------------------------------
 */

static int add(struct codemap *m, uint64_t start, uint64_t sz, const char *name, uint64_t time_ns)
{
	return codemap__add(
		m, &(struct code){ .start = start, .sz = sz, .time_ns = time_ns, .name = name });
}

/* The name at an address, or "". */
static const char *at(const struct codemap *m, uint64_t addr, uint64_t time_ns)
{
	struct code c;

	return codemap__find(m, addr, time_ns, &c) ? c.name : "";
}

static void the_latest_function_before_a_time_counts(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0x100, "a", 10), 0);
	assert_int_equal(add(m, 0x1080, 0x100, "b", 20), 0);
	assert_int_equal(codemap__reused(m), 1);
	assert_string_equal(at(m, 0xfff, 100), "");
	assert_string_equal(at(m, 0x1000, 100), "a");
	assert_string_equal(at(m, 0x107f, 100), "a");
	assert_string_equal(at(m, 0x1080, 100), "b");
	assert_string_equal(at(m, 0x1080, 19), "a");
	assert_string_equal(at(m, 0x117f, 20), "b");
	assert_string_equal(at(m, 0x1180, 20), "");
	/* Before its time: the runtime reported it late. */
	assert_string_equal(at(m, 0x1000, 5), "a");
	assert_string_equal(at(m, 0x1100, 5), "b");
	assert_int_equal(add(m, 0x1080, 0x100, "b", 30), 0); /* again */
	assert_int_equal(codemap__reused(m), 1);
	codemap__free(m);
}

/* Threads write records a little out of order. */
static void times_may_go_back(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0x100, "a", 20), 0);
	assert_int_equal(add(m, 0x1000, 0x100, "b", 10), 0);
	assert_string_equal(at(m, 0x1000, 20), "b");
	assert_string_equal(at(m, 0x1000, 15), "a");
	codemap__free(m);
}

struct function {
	uint64_t start, end, time_ns;
	char name[8];
};

/* By a linear search. */
static const char *expected(const struct function *all, size_t cnt, uint64_t addr, uint64_t time_ns)
{
	const char *name = "";

	for (size_t i = cnt; i-- > 0;) {
		if (addr < all[i].start || addr >= all[i].end)
			continue;
		name = all[i].name;
		if (all[i].time_ns <= time_ns)
			break;
	}
	return name;
}

/* Adjacent places, also at their edges, across pages, reused repeatedly. */
static void look_ups_equal_a_linear_search(void **state)
{
	static struct function all[3000];
	struct codemap *m = codemap__new();
	unsigned seed = 7;

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		struct function *f = &all[i];
		uint64_t sz = rand_r(&seed) % (i % 100 ? 300 : 9000) + 1;

		*f = (struct function){ .start = 0x10000 + (uint64_t)(rand_r(&seed) % 0x5000),
					.time_ns = i / 3 };
		f->end = f->start + sz;
		snprintf(f->name, sizeof(f->name), "%zu", i % 50);
		assert_int_equal(add(m, f->start, sz, f->name, f->time_ns), 0);
		for (int k = 0; k < 100; k++) {
			const struct function *g = &all[(size_t)rand_r(&seed) % (i + 1)];
			uint64_t addr = (k & 1 ? g->start : g->end) - (uint64_t)(k & 2);
			uint64_t time_ns = (uint64_t)rand_r(&seed) % (i + 2);

			assert_string_equal(at(m, addr, time_ns),
					    expected(all, i + 1, addr, time_ns));
		}
	}
	codemap__free(m);
}

static void functions_may_span_many_pages(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x7fff0ff0, 0x300020, "large", 0), 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(m, 0x10000000 + i * 0x2000, 0x1800, "small", 0), 0);
	assert_string_equal(at(m, 0x7fff0fef, 0), "");
	assert_string_equal(at(m, 0x7fff0ff0, 0), "large");
	assert_string_equal(at(m, 0x8010abcd, 0), "large");
	assert_string_equal(at(m, 0x802f100f, 0), "large");
	assert_string_equal(at(m, 0x802f1010, 0), "");
	assert_string_equal(at(m, 0x10000000 + 999 * 0x2000 + 0x17ff, 0), "small");
	assert_int_equal(codemap__cnt(m), 1001);
	codemap__free(m);
}

static void bad_functions_are_refused(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0, "empty", 0), -EINVAL);
	assert_int_equal(add(m, 0x1000, 1, "", 0), -EINVAL);
	assert_int_equal(add(m, 0x1000, 1ull << 40, "huge", 0), -EINVAL);
	assert_int_equal(add(m, UINT64_MAX - 1, 4, "wraps", 0), -EINVAL);
	assert_int_equal(codemap__cnt(m), 0);
	codemap__free(m);
}

/* Millions of functions at one place are an attack: the memory for them is bounded, and so is the
 * time of a look-up. */
static void room_has_bounds(void **state)
{
	struct codemap *m = codemap__new();
	int err = 0;

	(void)state;
	for (uint64_t i = 0; i < 1u << 22 && !err; i++)
		err = add(m, 0x1000 + (i & 1), 0x1000000 - 1, "forged", i);
	assert_int_equal(err, -E2BIG);
	assert_true(codemap__sz(m) < 64 << 20);
	assert_string_equal(at(m, 0x1001, 0), "forged");
	codemap__free(m);
	m = codemap__new();
	err = 0;
	for (uint64_t i = 0; i < 1u << 22 && !err; i++)
		err = add(m, i << 24, 0x1000000, "forged", i);
	assert_int_equal(err, -E2BIG);
	assert_true(codemap__sz(m) < 128 << 20);
	codemap__free(m);
}

/* A place with many owners that are all later than the look-up: the first of them is found, however
 * many there are. */
static void the_first_of_many_is_found(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	for (uint64_t i = 0; i < 500000; i++)
		assert_int_equal(
			add(m, 0x1000 + i % 16 * 64, 64, i < 16 ? "first" : "later", 1000 + i), 0);
	for (uint64_t i = 0; i < 100000; i++)
		assert_string_equal(at(m, 0x1000 + i % 1024, i % 1000), "first");
	assert_string_equal(at(m, 0x1000, 1016), "later");
	codemap__free(m);
}

/* ---- perf-PID.map -------------------------------------------------------------------------------
 */

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

static int text_file(void)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void append(int fd, const void *text, size_t sz)
{
	lseek(fd, 0, SEEK_END);
	assert_int_equal(write(fd, text, sz), sz);
}

/* A runtime that never stops compiling: its latest functions are the ones that run. */
static void the_newest_of_a_large_map_are_kept(void **state)
{
	const uint64_t cnt = (1u << 19) + 1000;
	struct codemap *m = codemap__new();
	struct perfmap p = { 0 };
	struct buf text = { 0 };
	int fd = text_file();
	char name[16];

	(void)state;
	for (uint64_t i = 0; i < cnt; i++)
		buf__printf(&text, "%llx 10 f%llu\n", 0x100000ull + i * 16, (unsigned long long)i);
	append(fd, (const char *)text.data, text.sz);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	assert_true(p.overflowed);
	for (uint64_t i = cnt - 200000; i < cnt; i++) {
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		assert_string_equal(at(m, 0x100000 + i * 16, 0), name);
	}
	append(fd, "100000 10 again\n", 16);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	assert_string_equal(at(m, 0x100000, 0), "again");
	buf__free(&text);
	close(fd);
	codemap__free(m);
}

static void a_map_is_read_as_it_grows(void **state)
{
	struct codemap *m = codemap__new();
	struct perfmap p = { 0 };
	char *line = malloc(200000);
	int fd = text_file();

	(void)state;
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	append(fd, "1000 10 a\n2000 10 b", 19);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	assert_string_equal(at(m, 0x1000, 0), "a");
	assert_string_equal(at(m, 0x2000, 0), ""); /* its name may be incomplete */
	append(fd, "c\nnonsense\n1000 10 d\n", 21);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	assert_string_equal(at(m, 0x1000, 0), "d");
	assert_string_equal(at(m, 0x2000, 0), "bc");
	/* A line that is too long is skipped. */
	memset(line, 'x', 200000);
	memcpy(line, "3000 10 ", 8);
	append(fd, line, 200000);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	append(fd, "\n4000 10 e\n", 11);
	assert_int_equal(perfmap__read(&p, fd, m), 0);
	assert_string_equal(at(m, 0x3000, 0), "");
	assert_string_equal(at(m, 0x4000, 0), "e");
	/* Another text in its place. */
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, line, 200000);
	append(fd, line, 200000);
	assert_int_equal(perfmap__read(&p, fd, m), -ESTALE);
	codemap__free(m);
	free(line);
	close(fd);
}

/* ---- jit-PID.dump -------------------------------------------------------------------------------
 */

static void put_header(struct buf *b, uint64_t flags)
{
	buf__u32(b, 0x4a695444);
	buf__u32(b, 1);
	buf__u32(b, 40);
	buf__u32(b, 62);
	buf__u32(b, 0);
	buf__u32(b, 1);
	buf__u64(b, 5);
	buf__u64(b, flags);
}

static void put_prefix(struct buf *b, uint32_t id, uint32_t sz, uint64_t time_ns)
{
	buf__u32(b, id);
	buf__u32(b, sz);
	buf__u64(b, time_ns);
}

static void put_load(struct buf *b, const char *name, uint64_t addr, uint64_t time_ns)
{
	put_prefix(b, 0, (uint32_t)(56 + strlen(name) + 1 + 16), time_ns);
	buf__u64(b, 1); /* pid, tid */
	buf__u64(b, addr);
	buf__u64(b, addr);
	buf__u64(b, 16);
	buf__u64(b, 1);
	buf__append(b, name, strlen(name) + 1);
	buf__append(b, "0123456789abcdef", 16);
}

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
	struct jitdump d = { 0 };
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
		assert_int_equal(jitdump__read(&d, fd, m), 0);
		assert_int_equal(codemap__cnt(m), i >= 40 + 56 + 2 + 16 - 1);
	}
	append(fd, b.data + 200, b.sz - 201);
	assert_int_equal(jitdump__read(&d, fd, m), 0);
	assert_int_equal(codemap__cnt(m), 2);
	append(fd, b.data + b.sz - 1, 1);
	assert_int_equal(jitdump__read(&d, fd, m), 0);
	assert_string_equal(at(m, 0x1000, 29), "a");
	assert_string_equal(at(m, 0x1000, 30), "b");
	assert_string_equal(at(m, 0x2008, 20), "a");
	buf__free(&b);
	codemap__free(m);
	close(fd);
}

static void put_frames(struct buf *b, const char *hdr, const char *frames, bool hdr_first)
{
	size_t sz = strlen(hdr) + strlen(frames);

	put_prefix(b, 4, (uint32_t)(40 + sz + 3), 9);
	buf__u64(b, sz);
	buf__u64(b, strlen(hdr));
	buf__u64(b, 0);
	buf__str(b, hdr_first ? hdr : frames);
	buf__str(b, hdr_first ? frames : hdr);
	buf__append(b, "\0\0\0", 3); /* V8's padding */
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
	struct jitdump d = { .with_frames = true };
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
		assert_int_equal(jitdump__read(&d, fd, m), 0);
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
	struct jitdump d = { 0 };
	struct buf b = { 0 };
	int fd = text_file();

	(void)state;
	put_header(&b, 1);
	put_load(&b, "a", 0x1000, UINT64_MAX / 2);
	put_load(&b, "b", 0x1000, UINT64_MAX / 2 + 1);
	put_move(&b, 0x1000, 0x3000, UINT64_MAX / 2 + 2);
	append(fd, b.data, b.sz);
	assert_int_equal(jitdump__read(&d, fd, m), 0);
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
		struct jitdump d = { 0 };
		struct buf b = { 0 };
		int fd = text_file();

		put_header(&b, 0);
		put_load(&b, "a", 0x1000, 10);
		b.data[cases[i].at] = cases[i].byte;
		append(fd, b.data, b.sz);
		assert_int_equal(jitdump__read(&d, fd, m), cases[i].err);
		assert_int_equal(codemap__cnt(m), 0);
		buf__free(&b);
		codemap__free(m);
		close(fd);
	}
}

RUN_TESTS(cmocka_unit_test(the_latest_function_before_a_time_counts),
	  cmocka_unit_test(times_may_go_back), cmocka_unit_test(look_ups_equal_a_linear_search),
	  cmocka_unit_test(the_first_of_many_is_found),
	  cmocka_unit_test(functions_may_span_many_pages),
	  cmocka_unit_test(bad_functions_are_refused), cmocka_unit_test(room_has_bounds),
	  cmocka_unit_test(lines_are_parsed), cmocka_unit_test(the_newest_of_a_large_map_are_kept),
	  cmocka_unit_test(a_map_is_read_as_it_grows), cmocka_unit_test(a_dump_is_read_as_it_grows),
	  cmocka_unit_test(dumps_have_call_frame_information),
	  cmocka_unit_test(times_of_another_clock_are_ignored),
	  cmocka_unit_test(broken_dumps_are_refused))
