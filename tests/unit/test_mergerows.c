// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a fleet folder on their way: ranges, the file between reading and sorting, the order. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/fleet/mergerows.h"
#include "stacksexport/fleet/mergespill.h"

#define ROWS	   30000
#define MAX_ROWS   1000
#define EVERYTHING UINT64_MAX

/* Commands and hosts in no order; the time grows, like in the files of a recording. Two rows have
 * other columns. */
static const char input_sql[] =
	"COPY (SELECT i * 1000000 AS timestamp, i % 7 AS duration, 'profile' AS kind, "
	"'command ' || hash(i) % 50 AS command, CASE WHEN i % 3 > 0 THEN 'host ' || i % 5 END AS "
	"host, "
	"18446744073709551615::UBIGINT - i::UBIGINT AS span_id, CASE i WHEN 5 THEN 7 WHEN 6 THEN 0 "
	"END "
	"AS ustack_id, 'a text that is not short ' || i % 11 AS cgroup FROM range(30000) t(i)) TO ";

struct scene {
	struct db db;
	struct recfiles files;
	char dir[32], input[64], output[64];
};

static void scene_run(struct scene *s, const char *sql, const char *path)
{
	struct buf b = { 0 };

	buf__str(&b, sql);
	db__append_quoted(&b, path, '\'');
	buf__u8(&b, 0);
	assert_int_equal(db__command(&s->db, (const char *)b.data), 0);
	buf__free(&b);
}

static struct scene scene_make(void)
{
	struct scene s = { .files.label = (char *)"test", .dir = "/tmp/mergerows.XXXXXX" };

	assert_non_null(mkdtemp(s.dir));
	snprintf(s.input, sizeof(s.input), "%s/in.parquet", s.dir);
	snprintf(s.output, sizeof(s.output), "%s/out.parquet", s.dir);
	assert_int_equal(db__connect(&s.db), 0);
	scene_run(&s, input_sql, s.input);
	scene_run(&s,
		  "SET VARIABLE merge_from = 0; SET VARIABLE merge_to = 9e18::BIGINT; "
		  "SET VARIABLE merge_files = ",
		  s.input);
	assert_int_equal(db__command(&s.db, "SET VARIABLE merge_files = "
					    "[getvariable('merge_files')]"),
			 0);
	return s;
}

static void scene_free(struct scene *s)
{
	db__close(&s->db);
	unlink(s->input);
	unlink(s->output);
	assert_int_equal(rmdir(s->dir), 0); /* nothing else is left in it */
}

static int64_t scene_number(struct scene *s, const char *sql)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	struct cells cells;
	int64_t n;

	assert_int_equal(duckdb_query(s->db.connection, sql, &result), DuckDBSuccess);
	chunk = duckdb_fetch_chunk(result);
	cells = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	n = cells__int(&cells, 0);
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return n;
}

/* Merges the input in ranges of at most `max_rows`. */
static void scene_merge(struct scene *s, size_t max_rows)
{
	struct fleet_events events;
	struct merge_columns columns;
	struct merge_ranges ranges;
	struct merge_rows *rows;
	char why[MERGE_WHY_SZ] = "";
	uint64_t cnt = 0;
	int fd = open(s->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	fleet_events__init(&events);
	assert_int_equal(merge_columns__read(&columns, &s->db, EVERYTHING, why), 0);
	assert_int_equal(merge_ranges__read(&ranges, &s->db, max_rows, ROWS), 0);
	assert_int_equal(ranges.row_cnt, ROWS);
	assert_int_equal(ranges.cnt > 0, max_rows < ROWS);
	rows = merge_rows__new(&(struct merge_rows_options){ .db = &s->db,
							     .columns = &columns,
							     .ranges = &ranges,
							     .events = &events,
							     .sources = "profile",
							     .dir = s->dir,
							     .fd = fd });
	assert_non_null(rows);
	assert_int_equal(merge_rows__write(rows, why), 0);
	assert_int_equal(merge_rows__finish(rows, &cnt), 0);
	assert_int_equal(cnt, ROWS);
	merge_rows__free(rows);
	merge_ranges__free(&ranges);
	merge_columns__free(&columns);
	close(fd);
	scene_run(s, "SET VARIABLE merged = ", s->output);
}

static void check_output(struct scene *s)
{
	assert_int_equal(
		scene_number(
			s,
			"SELECT count(*) FROM (SELECT (command, coalesce(host, ''), timestamp) AS "
			"k, lag(k) OVER (ORDER BY file_row_number) AS before FROM "
			"read_parquet(getvariable('merged'))) WHERE before > k"),
		0);
	assert_int_equal(
		scene_number(
			s,
			"SELECT count(*) FROM (SELECT timestamp, duration, kind, command, host, "
			"hash(span_id::BIT), ustack_id::BIGINT, cgroup FROM "
			"read_parquet(getvariable('merged')) EXCEPT SELECT timestamp, duration, "
			"kind, command, host, hash(span_id::BIT), ustack_id::BIGINT, cgroup FROM "
			"read_parquet(getvariable('merge_files')))"),
		0);
	assert_int_equal(scene_number(s, "SELECT count(*) FROM read_parquet(getvariable('merged')) "
					 "WHERE ustack_id IS NOT NULL"),
			 2);
	assert_int_equal(scene_number(s, "SELECT max(span_id) FROM "
					 "read_parquet(getvariable('merged'))"),
			 -1);
	assert_int_equal(scene_number(s,
				      "SELECT count(*) FROM parquet_schema(getvariable('merged')) "
				      "WHERE num_children IS NULL AND repetition_type != "
				      "'OPTIONAL'"),
			 0);
}

static void rows_are_sorted_by_command_host_and_time(void **state)
{
	struct scene s = scene_make();

	(void)state;
	scene_merge(&s, ROWS);
	check_output(&s);
	scene_free(&s);
}

static void rows_that_do_not_fit_are_sorted_in_ranges(void **state)
{
	struct scene s = scene_make();

	(void)state;
	scene_merge(&s, MAX_ROWS);
	check_output(&s);
	scene_free(&s);
}

static void unknown_columns_are_refused(void **state)
{
	struct scene s = scene_make();
	struct merge_columns columns;
	char why[MERGE_WHY_SZ] = "";

	(void)state;
	scene_run(&s, "COPY (SELECT 1 AS timestamp, 'c' AS command, 2 AS fresh) TO ", s.input);
	assert_int_equal(merge_columns__read(&columns, &s.db, EVERYTHING, why), -EBADMSG);
	assert_non_null(strstr(why, "'fresh'"));
	merge_columns__free(&columns);
	scene_run(&s, "COPY (SELECT 1 AS timestamp) TO ", s.input);
	assert_int_equal(merge_columns__read(&columns, &s.db, EVERYTHING, why), -EBADMSG);
	assert_non_null(strstr(why, "'command'"));
	merge_columns__free(&columns);
	scene_free(&s);
}

static int take_sum(const struct row *rows, size_t cnt, void *arg)
{
	int64_t *sum = arg;

	for (size_t i = 0; i < cnt; i++) {
		assert_true(rows[i].timestamp > sum[1]); /* in the order in which they were added */
		sum[0] += rows[i].timestamp;
		sum[1] = rows[i].timestamp;
	}
	return 0;
}

static void a_spill_keeps_the_rows_of_each_range(void **state)
{
	struct merge_spill *s = merge_spill__new("/tmp", 3);
	struct row row = { 0 };

	(void)state;
	assert_non_null(s);
	for (int turn = 0; turn < 2; turn++) {
		for (row.timestamp = 1; row.timestamp <= 30000; row.timestamp++)
			assert_int_equal(merge_spill__add(s, (size_t)row.timestamp % 2, &row), 0);
		for (size_t r = 0; r < 3; r++) {
			int64_t sum[2] = { 0 };

			assert_int_equal(merge_spill__each(s, r, take_sum, sum), 0);
			assert_int_equal(sum[0], r == 0 ? 225015000 : r == 1 ? 225000000 : 0);
		}
		merge_spill__clear(s);
	}
	merge_spill__free(s);
}

RUN_TESTS(cmocka_unit_test(rows_are_sorted_by_command_host_and_time),
	  cmocka_unit_test(rows_that_do_not_fit_are_sorted_in_ranges),
	  cmocka_unit_test(unknown_columns_are_refused),
	  cmocka_unit_test(a_spill_keeps_the_rows_of_each_range))
