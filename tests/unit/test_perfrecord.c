// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>

#include "event/perfrecord.h"
#include "lib/perfmaker.h"

static void reads_mappings(void **state)
{
	struct buf b = { 0 };
	struct record r;

	(void)state;
	perfmaker__mmap2(&b, 77, 20, "/usr/lib/a b.so");
	assert_true(perfrecord__parse(b.data, b.sz, &r));
	assert_int_equal(r.type, RECORD_MMAP);
	assert_int_equal(r.time_ns, 77);
	assert_int_equal(r.cpu, 3);
	assert_int_equal(r.tgid, 10);
	assert_int_equal(r.tid, 11);
	assert_int_equal(r.mmap.start, 0x7f0000001000);
	assert_int_equal(r.mmap.len, 0x2000);
	assert_int_equal(r.mmap.pgoff, 0x3000);
	assert_int_equal(r.mmap.prot, 5);
	assert_int_equal(r.mmap.ino, 0);
	assert_int_equal(r.mmap.build_id.sz, 20);
	assert_int_equal(r.mmap.build_id.bytes[19], 0xb3);
	assert_string_equal(r.mmap.path, "/usr/lib/a b.so");
	perfmaker__mmap2(&b, 78, 0, "//anon");
	assert_true(perfrecord__parse(b.data, b.sz, &r));
	assert_int_equal(r.mmap.build_id.sz, 0);
	assert_int_equal(r.mmap.maj, 8);
	assert_int_equal(r.mmap.min, 1);
	assert_int_equal(r.mmap.ino, 1234567);
	assert_string_equal(r.mmap.path, "//anon");
	buf__free(&b);
}

/* The flag for a build ID may be wrong. */
static void device_numbers_are_no_build_ids(void **state)
{
	static const struct {
		uint32_t maj, min;
		uint64_t generation;
	} files[] = { { 254, 0, 7 }, { 0, 42, 0 },   { 8, 1, 0 },
		      { 9, 0, 0 },   { 259, 3, 77 }, { 8, 0, 99 } };
	struct record r;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct buf b = { 0 }, id = { 0 };

		perfmaker__mmap2(&b, 77, 20, "/usr/lib/a.so");
		perfmaker__inode(&id, files[i].maj, files[i].min, files[i].generation);
		memcpy(b.data + 40, id.data, id.sz);
		assert_true(perfrecord__parse(b.data, b.sz, &r));
		assert_int_equal(r.mmap.build_id.sz, 0);
		assert_int_equal(r.mmap.maj, files[i].maj);
		assert_int_equal(r.mmap.min, files[i].min);
		assert_int_equal(r.mmap.ino, PERFMAKER_INODE);
		assert_int_equal(r.mmap.gen, files[i].generation);
		buf__free(&b);
		buf__free(&id);
	}
}

static void short_build_ids_are_read(void **state)
{
	struct record r;

	(void)state;
	for (uint8_t sz = 4; sz <= 20; sz++) {
		struct buf b = { 0 };

		perfmaker__mmap2(&b, 77, sz, "/usr/lib/a.so");
		assert_true(perfrecord__parse(b.data, b.sz, &r));
		assert_int_equal(r.mmap.build_id.sz, sz);
		assert_int_equal(r.mmap.build_id.bytes[sz - 1], 0xa0 + sz - 1);
		buf__free(&b);
	}
}

static void reads_tasks(void **state)
{
	struct buf b = { 0 };
	struct record r;

	(void)state;
	perfmaker__comm(&b, 1, "bash");
	assert_true(perfrecord__parse(b.data, b.sz, &r));
	assert_int_equal(r.type, RECORD_COMM);
	assert_true(r.comm.exec);
	assert_string_equal(r.comm.name, "bash");
	b.data[4] = b.data[5] = 0; /* misc: renamed, not exec'd */
	assert_true(perfrecord__parse(b.data, b.sz, &r));
	assert_false(r.comm.exec);
	for (int i = 0; i < 2; i++) {
		perfmaker__task(&b, 5, i ? PERF_RECORD_FORK : PERF_RECORD_EXIT);
		assert_true(perfrecord__parse(b.data, b.sz, &r));
		assert_int_equal(r.type, i ? RECORD_FORK : RECORD_EXIT);
		assert_int_equal(r.time_ns, 5);
		assert_int_equal(r.tgid, 20);
		assert_int_equal(r.tid, 22);
	}
	assert_int_equal(r.fork.parent_tgid, 21);
	assert_int_equal(r.fork.parent_tid, 23);
	perfmaker__lost(&b, 6, 123);
	assert_true(perfrecord__parse(b.data, b.sz, &r));
	assert_int_equal(r.type, RECORD_LOST);
	assert_int_equal(r.lost.cnt, 123);
	assert_int_equal(r.tgid, 0);
	assert_int_equal(r.cpu, 3);
	buf__free(&b);
}

/* Parses the record as a block of exactly its size, for the sanitizer. */
static bool parse_copy(const struct buf *b, size_t sz)
{
	uint8_t *copy = malloc(sz ? sz : 1);
	uint16_t claimed = (uint16_t)sz;
	struct record r;
	bool ok;

	memcpy(copy, b->data, sz);
	if (sz >= 8)
		memcpy(copy + 6, &claimed, sizeof(claimed));
	ok = perfrecord__parse(copy, sz, &r);
	free(copy);
	return ok;
}

static void cut_records_are_refused(void **state)
{
	struct buf b = { 0 };

	(void)state;
	perfmaker__mmap2(&b, 77, 20, "/a/path/that/is/not/short/at/all");
	for (size_t sz = 0; sz < b.sz; sz++) {
		bool ok = parse_copy(&b, sz);

		/* A path needs its NUL before the last 24 bytes. */
		if (sz < 8 + 64 + 33 + 24)
			assert_false(ok);
	}
	perfmaker__task(&b, 77, PERF_RECORD_EXIT);
	for (size_t sz = 0; sz < 8 + 16 + 24; sz++)
		assert_false(parse_copy(&b, sz));
	perfmaker__comm(&b, 77, "0123456");
	for (size_t sz = 0; sz < b.sz; sz++)
		assert_false(parse_copy(&b, sz));
	buf__free(&b);
}

static void wrong_sizes_are_refused(void **state)
{
	struct buf b = { 0 };
	struct record r;

	(void)state;
	perfmaker__comm(&b, 77, "x");
	assert_false(perfrecord__parse(b.data, b.sz - 8, &r)); /* not the size in the header */
	for (uint32_t type = 0; type < 300; type++) {
		bool known = type == PERF_RECORD_COMM || type == PERF_RECORD_LOST ||
			     type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;

		perfmaker__begin(&b, type, 0);
		buf__u64(&b, 0);
		perfmaker__text(&b, "12345678");
		perfmaker__end(&b, 1);
		assert_int_equal(perfrecord__parse(b.data, b.sz, &r), known);
	}
	buf__free(&b);
}

RUN_TESTS(cmocka_unit_test(reads_mappings), cmocka_unit_test(device_numbers_are_no_build_ids),
	  cmocka_unit_test(short_build_ids_are_read), cmocka_unit_test(reads_tasks),
	  cmocka_unit_test(cut_records_are_refused), cmocka_unit_test(wrong_sizes_are_refused))
