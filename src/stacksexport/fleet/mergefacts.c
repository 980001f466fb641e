// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergefacts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

#define TOGETHER 256 /* files that one query reads */
#define FACT_CNT 6

#define SPAN_MAX_NS (48 * HOUR_NS)	  /* of a batch, which is ten seconds long */
#define TIME_MAX_NS 4000000000000000000ll /* sql/files.sql has the same limit */

/* Some files of one table. */
struct facts_query {
	struct merge_inputs *in;
	struct db *db;
	const char *sql;
	enum fleet_table table;
	struct merge_batch *batches[TOGETHER];
	char *paths[TOGETHER];
	size_t cnt;
};

int merge_facts__set_files(struct db *db, char *const *paths, size_t cnt)
{
	struct buf sql = { 0 };
	int err;

	buf__str(&sql, "SET VARIABLE merge_files = [");
	for (size_t i = 0; i < cnt; i++) {
		buf__str(&sql, i ? ", " : "");
		db__append_quoted(&sql, paths[i], '\'');
	}
	buf__append(&sql, "]", sizeof("]"));
	err = buf__err(&sql);
	if (err)
		log__error("out of memory");
	else
		err = db__command(db, (const char *)sql.data);
	buf__free(&sql);
	return err;
}

static void mergefacts_leave_out(struct merge_batch *b, const char *path, const char *why)
{
	if (!b->is_bad)
		log__warn("left out: %s: %.*s", path, (int)strcspn(why, "\n"), why);
	b->is_bad = true;
}

/* The row of one file: its number, rows, first and last time (null: it has none), columns, and
 * which of them have values. */
static void mergefacts_take(const struct facts_query *q, const int64_t row[FACT_CNT],
			    bool has_times)
{
	struct merge_batch *b;
	struct merge_file *f;

	if (row[0] < 1 || row[0] > (int64_t)q->cnt)
		return;
	b = q->batches[row[0] - 1];
	f = &b->files[q->table];
	f->row_cnt = (uint64_t)row[1];
	f->schema = (uint64_t)row[4];
	f->with_values = (uint64_t)row[5];
	if (q->table != FLEET_EVENTS)
		return;
	b->first_ns = row[2];
	b->last_ns = row[3];
	if (!has_times || row[2] < 0 || row[3] > TIME_MAX_NS || row[3] - row[2] > SPAN_MAX_NS)
		mergefacts_leave_out(b, q->paths[row[0] - 1], "its times cannot be");
}

static void mergefacts_take_rows(const struct facts_query *q, duckdb_result *result)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct cells cells[FACT_CNT];

		for (idx_t c = 0; c < FACT_CNT; c++)
			cells[c] = cells__on(duckdb_data_chunk_get_vector(chunk, c));
		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			int64_t row[FACT_CNT];

			for (idx_t c = 0; c < FACT_CNT; c++)
				row[c] = cells__int(&cells[c], i);
			mergefacts_take(q, row,
					!cells__is_null(&cells[2], i) &&
						!cells__is_null(&cells[3], i));
		}
		duckdb_destroy_data_chunk(&chunk);
	}
}

/* One damaged file fails the query for all: then each is read alone. */
static int facts_query__run(struct facts_query *q)
{
	duckdb_result result;
	int err = merge_facts__set_files(q->db, q->paths, q->cnt);

	if (err)
		return err;
	if (duckdb_query(q->db->connection, q->sql, &result) == DuckDBSuccess) {
		mergefacts_take_rows(q, &result);
	} else if (q->cnt == 1) {
		mergefacts_leave_out(q->batches[0], q->paths[0], duckdb_result_error(&result));
	} else {
		for (size_t i = 0; i < q->cnt && !err; i++) {
			struct facts_query one = {
				q->in,		 q->db, q->sql, q->table, { q->batches[i] },
				{ q->paths[i] }, 1
			};

			err = facts_query__run(&one);
		}
	}
	duckdb_destroy_result(&result);
	return err;
}

static int facts_query__flush(struct facts_query *q)
{
	int err = q->cnt ? facts_query__run(q) : 0;

	for (size_t i = 0; i < q->cnt; i++)
		free(q->paths[i]);
	q->cnt = 0;
	return err;
}

static int facts_query__add(struct facts_query *q, struct merge_batch *b)
{
	q->batches[q->cnt] = b;
	q->paths[q->cnt] = merge_inputs__path(q->in, b, q->table);
	if (!q->paths[q->cnt])
		return -ENOMEM;
	return ++q->cnt == TOGETHER ? facts_query__flush(q) : 0;
}

static bool mergefacts_are_wanted(const struct merge_batch *b, enum fleet_table table)
{
	if (b->is_bad || !b->files[table].is_there)
		return false;
	for (int t = 0; t < FLEET_TABLE_CNT; t++)
		if (!b->files[t].is_done)
			return true;
	return false;
}

int merge_facts__read(struct merge_inputs *in, struct db *db)
{
	char *sql = share__read("sql/merge/facts.sql");
	struct facts_query q = { .in = in, .db = db, .sql = sql };
	int err = sql ? 0 : -ENOENT;

	for (size_t i = 0; i < in->cnt; i++)
		if (!in->batches[i].is_part) { /* an empty file has no row in the result */
			in->batches[i].first_ns = 1;
			in->batches[i].last_ns = 0;
		}
	for (int t = 0; t < FLEET_TABLE_CNT && !err; t++) {
		q.table = (enum fleet_table)t;
		for (size_t i = 0; i < in->cnt && !err; i++)
			if (mergefacts_are_wanted(&in->batches[i], q.table))
				err = facts_query__add(&q, &in->batches[i]);
		if (!err)
			err = facts_query__flush(&q);
	}
	for (size_t i = 0; i < q.cnt; i++)
		free(q.paths[i]);
	free(sql);
	return err;
}
