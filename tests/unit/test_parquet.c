// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of the contract, whole files, and failing writes. tests/e2e/test_store.py reads the files
 * with other programs. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/page.h"
#include "store/parquet.h"
#include "store/row.h"

static void columns_have_names_types_and_order(void **state)
{
	/* CONTRACT: queries of users rely on names, types and order. */
	static const struct {
		const char *name;
		enum column_type type;
		bool nullable;
	} want[] = {
		{ "timestamp", COLUMN_INT64, false }, { "duration", COLUMN_INT64, false },
		{ "kind", COLUMN_STRING, false },     { "cpu", COLUMN_INT32, false },
		{ "tgid", COLUMN_INT32, false },      { "pid", COLUMN_INT32, false },
		{ "span_id", COLUMN_UINT64, false },  { "parent_id", COLUMN_UINT64, false },
		{ "id", COLUMN_UINT64, false },	      { "amount", COLUMN_INT64, false },
		{ "command", COLUMN_STRING, false },  { "trace_name", COLUMN_STRING, false },
		{ "buildid", COLUMN_BINARY, false },  { "thread", COLUMN_STRING, true },
		{ "ustack_id", COLUMN_UINT64, true }, { "kstack_id", COLUMN_UINT64, true },
		{ "unwind", COLUMN_STRING, true },    { "state", COLUMN_STRING, true },
		{ "runnable", COLUMN_INT64, true },   { "gaps", COLUMN_INT64, true },
		{ "target", COLUMN_INT32, true },     { "device", COLUMN_STRING, true },
		{ "file", COLUMN_STRING, true },      { "fs", COLUMN_STRING, true },
		{ "local", COLUMN_STRING, true },     { "peer", COLUMN_STRING, true },
		{ "address", COLUMN_UINT64, true },   { "cgroup", COLUMN_STRING, true },
		{ "host", COLUMN_STRING, true },      { "weight", COLUMN_INT32, true },
		{ "lost_kind", COLUMN_STRING, true }, { "reason", COLUMN_STRING, true },
		{ "path", COLUMN_STRING, true },      { "probe", COLUMN_STRING, true },
		{ "args", COLUMN_STRING, true },
	};

	(void)state;
	assert_int_equal(events_table.column_cnt, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < events_table.column_cnt; i++) {
		const struct column *c = &events_table.columns[i];

		assert_string_equal(c->name, want[i].name);
		assert_int_equal(c->type, want[i].type);
		assert_int_equal(c->nullable, want[i].nullable);
		assert_true(c->off + column__width(c) <= sizeof(struct row));
	}
	assert_true(events_table.sorted);
}

static void compressions_are_parsed(void **state)
{
	static const struct {
		const char *s;
		int level;
	} good[] = { { "zstd(1)", 1 }, { "zstd(22)", 22 }, { "zstd(9)", 9 },
		     { "zstd", 3 },    { "none", 0 },	   { "uncompressed", 0 } };
	static const char *const bad[] = { "",	       "zstd(0)",  "zstd(23)",	"zstd()", "zstd(1",
					   "zstd(-1)", "zstd(1)x", "zstd(100)", "lz4",	  "ZSTD" };
	int level;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(parquet__parse_compression(good[i].s, &level), 0);
		assert_int_equal(level, good[i].level);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parquet__parse_compression(bad[i], &level), -EINVAL);
}

/* A small table with a file that can be checked byte by byte. */
struct toy {
	int64_t ts;
	uint32_t name;
};

static const struct column toy_columns[] = {
	{ .name = "ts", .type = COLUMN_INT64, .off = offsetof(struct toy, ts) },
	{ .name = "s", .type = COLUMN_STRING, .off = offsetof(struct toy, name), .nullable = true },
};

static const struct table toy_table = { .name = "t",
					.columns = toy_columns,
					.column_cnt = 2,
					.row_sz = sizeof(struct toy),
					.sorted = true };

/* Checksums and the version in the footer are taken from the file. */
static const uint8_t toy_file[] = {
	'P', 'A', 'R', '1',
	/* header: data page, 10 bytes, crc 0xaa71109c, 3 values, DELTA, levels RLE */
	0x15, 0x00, 0x15, 0x14, 0x15, 0x14, 0x15, 0xc7, 0xbd, 0xf7, 0xd8, 0x0a, 0x1c, 0x15, 0x06,
	0x15, 0x0a, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00,
	/* 10, 20, 30 */
	0x80, 0x01, 0x04, 0x03, 0x14, 0x14, 0x00, 0x00, 0x00, 0x00,
	/* header: data page, 11 bytes, crc */
	0x15, 0x00, 0x15, 0x16, 0x15, 0x16, 0x15
};
static const uint8_t toy_strings[] = {
	/* 3 values, PLAIN, levels RLE; levels of 2 bytes: 1, 0, 0; "a" */
	0x1c, 0x15, 0x06, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00, 'a'
};

static const struct strings *toy_names(void)
{
	static struct string v[] = { { "", 0 }, { "a", 1 } };
	static const struct strings names = { .v = v, .cnt = 2 };

	return &names;
}

static struct batch *toy_batch(void)
{
	/* unsorted: the file has them sorted */
	static const struct toy rows[] = { { 30, 0 }, { 10, 1 }, { 20, 0 } };
	struct batch *b = batch__new(&toy_table, 3, 0);

	assert_int_equal(batch__append(b, rows, 3), 0);
	return b;
}

static void a_file_equals_the_golden_one(void **state)
{
	int fd = memfd_create("toy", 0);
	struct parquet *p =
		parquet__new(&toy_table, fd, &(struct parquet_options){ 0, "profile", NULL });
	struct batch *b = toy_batch();
	uint8_t file[4096];
	ssize_t sz;
	uint32_t footer_sz;

	(void)state;
	assert_int_equal(parquet__write(p, b, toy_names()), 0);
	assert_int_equal(parquet__finish(p), 0);
	sz = pread(fd, file, sizeof(file), 0);
	assert_int_equal(sz, parquet__sz(p));
	assert_memory_equal(file, toy_file, sizeof(toy_file));
	/* after the checksum, a varint of up to 5 bytes */
	assert_non_null(memmem(file + sizeof(toy_file), 5 + sizeof(toy_strings), toy_strings,
			       sizeof(toy_strings)));
	assert_memory_equal(file + sz - 4, "PAR1", 4);
	memcpy(&footer_sz, file + sz - 8, 4);
	/* version 1; schema of 3: "t" with 2 children, ts required INT64, s optional UTF8 */
	assert_memory_equal(file + sz - 8 - footer_sz,
			    "\x15\x02\x19\x3c\x48\x01t\x15\x04\x00"
			    "\x15\x04\x25\x00\x18\x02ts\x00"
			    "\x15\x0c\x25\x02\x18\x01s\x25\x00\x4c\x1c\x00\x00\x00"
			    "\x16\x06\x19\x1c",
			    37);
	batch__free(b);
	parquet__free(p);
	close(fd);
}

static void a_file_without_rows_is_valid(void **state)
{
	int fd = memfd_create("empty", 0);
	struct parquet *p =
		parquet__new(&toy_table, fd, &(struct parquet_options){ 1, "profile", NULL });
	struct batch *b = batch__new(&toy_table, 1, 0);

	(void)state;
	assert_int_equal(parquet__write(p, b, toy_names()), 0);
	assert_int_equal(parquet__sz(p), 4);
	assert_int_equal(parquet__finish(p), 0);
	batch__free(b);
	parquet__free(p);
	close(fd);
}

static void a_full_disk_is_reported(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct parquet *p =
		parquet__new(&toy_table, fd, &(struct parquet_options){ 1, "profile", NULL });
	struct batch *b = toy_batch();

	(void)state;
	assert_int_equal(parquet__write(p, b, toy_names()), 0); /* still in memory */
	assert_int_equal(parquet__finish(p), -ENOSPC);
	assert_int_equal(parquet__finish(p), -ENOSPC);
	batch__free(b);
	parquet__free(p);
	close(fd);
}

/* Pages end with their row, after PAGE_ROWS rows or PAGE_SZ bytes. */
static void pages_end_with_rows(void **state)
{
	static char text[STRING_MAX];
	struct string v[] = { { text, STRING_MAX }, { "", 0 } };
	struct strings strings = { .v = v, .cnt = 2 };
	struct column column = { .name = "c", .type = COLUMN_STRING };
	uint64_t values[100] = { 0 };
	uint32_t reps[100] = { 0 }, defs[100];
	struct leaf l = { .column = &column,
			  .strings = &strings,
			  .values = values,
			  .reps = reps,
			  .defs = defs,
			  .level_cnt = 100,
			  .value_cnt = 100 };
	struct page p = { .encoding = ENCODING_PLAIN };

	(void)state;
	page__cut(&p, &l);
	assert_int_equal(p.cnt, PAGE_SZ / STRING_MAX);
	assert_int_equal(p.row_cnt, p.cnt);

	/* a row of 90 elements is not split */
	l.max_rep = l.max_def = 1;
	for (int i = 0; i < 100; i++) {
		reps[i] = i < 90 && i > 0;
		defs[i] = 1;
	}
	page__cut(&p, &l);
	assert_int_equal(p.cnt, 90);
	assert_int_equal(p.row_cnt, 1);
}

/* A page of more than 2 GiB is an error, not a negative size. */
static void a_page_of_2_gib_is_refused(void **state)
{
	static char text[STRING_MAX];
	size_t cnt = ((size_t)1 << 31) / STRING_MAX + 1;
	struct string v = { text, STRING_MAX };
	struct strings strings = { .v = &v, .cnt = 1 };
	struct column column = { .name = "c", .type = COLUMN_STRING };
	struct leaf l = { .column = &column, .strings = &strings, .max_rep = 1 };
	struct sink sink = { .fd = -1 };
	struct page_writer w;
	struct page p = { .encoding = ENCODING_PLAIN };

	(void)state;
	l.level_cnt = l.value_cnt = cnt;
	l.values = calloc(cnt, sizeof(*l.values));
	l.reps = calloc(cnt, sizeof(*l.reps));
	for (size_t i = 1; i < cnt; i++)
		l.reps[i] = 1;
	page__cut(&p, &l);
	assert_int_equal(p.cnt, cnt);
	assert_int_equal(page_writer__init(&w, &sink, 1), 0);
	assert_int_equal(page_writer__data(&w, &p, &l, NULL), -EFBIG);
	assert_int_equal(sink.off, 0);
	page_writer__free(&w);
	sink__free(&sink);
	leaf__free(&l);
}

RUN_TESTS(cmocka_unit_test(columns_have_names_types_and_order),
	  cmocka_unit_test(compressions_are_parsed), cmocka_unit_test(a_file_equals_the_golden_one),
	  cmocka_unit_test(a_file_without_rows_is_valid), cmocka_unit_test(a_full_disk_is_reported),
	  cmocka_unit_test(pages_end_with_rows), cmocka_unit_test(a_page_of_2_gib_is_refused))
