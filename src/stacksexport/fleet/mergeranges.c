// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeranges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

#define RANGE_ROWS 600000 /* about 150 MB */

/* Where a range begins: the first rows of a command on a host in a slot of time. */
struct range_key {
	char *command, *host;
	int64_t slot_ns;
};

struct ranges {
	struct buf view;
	struct buf columns; /* that are left out: EXCLUDE (…), or empty; with a NUL */
	struct range_key begin;
	uint64_t row_cnt; /* since the beginning of the range */
	bool is_first;
};

static void range_key__free(struct range_key *k)
{
	free(k->command);
	free(k->host);
	*k = (struct range_key){ 0 };
}

/* Appends the condition that a row is at or after a key. */
static void append_from(struct buf *sql, const struct range_key *k)
{
	buf__str(sql, " AND command >= ");
	db__append_quoted(sql, k->command, '\'');
	buf__str(sql, " AND (command > ");
	db__append_quoted(sql, k->command, '\'');
	buf__str(sql, " OR coalesce(host, '') > ");
	db__append_quoted(sql, k->host, '\'');
	buf__str(sql, " OR (coalesce(host, '') = ");
	db__append_quoted(sql, k->host, '\'');
	buf__printf(sql, " AND timestamp >= %" PRId64 "))", k->slot_ns);
}

/* Appends the condition that a row is before a key. */
static void append_to(struct buf *sql, const struct range_key *k)
{
	buf__str(sql, " AND command <= ");
	db__append_quoted(sql, k->command, '\'');
	buf__str(sql, " AND (command < ");
	db__append_quoted(sql, k->command, '\'');
	buf__str(sql, " OR coalesce(host, '') < ");
	db__append_quoted(sql, k->host, '\'');
	buf__str(sql, " OR (coalesce(host, '') = ");
	db__append_quoted(sql, k->host, '\'');
	buf__printf(sql, " AND timestamp < %" PRId64 "))", k->slot_ns);
}

/* Appends the range from r->begin to `end`; NULL: to the end. */
static void append_range(struct ranges *r, const struct range_key *end)
{
	buf__printf(&r->view,
		    "%s(SELECT *%s FROM read_parquet(getvariable('merge_files'), "
		    "hive_partitioning => false) WHERE timestamp >= getvariable('merge_from') "
		    "AND timestamp < getvariable('merge_to')",
		    r->is_first ? "" : " UNION ALL ", (const char *)r->columns.data);
	if (r->begin.command)
		append_from(&r->view, &r->begin);
	if (end)
		append_to(&r->view, end);
	buf__str(&r->view, " ORDER BY command, coalesce(host, ''), timestamp)");
	r->is_first = false;
	r->row_cnt = 0;
}

static char *text_at(const struct cells *cells, idx_t row)
{
	size_t sz;
	const char *s = cells__str(cells, row, &sz);

	return s ? strndup(s, sz) : strdup("");
}

/* A group of rows: command, host, slot, number of rows. Ends the range if it would be too large. */
static int take_group(struct ranges *r, const struct cells cells[4], idx_t row)
{
	uint64_t cnt = (uint64_t)cells__int(&cells[3], row);
	struct range_key key = { 0 };

	if (r->row_cnt && r->row_cnt + cnt > RANGE_ROWS) {
		key = (struct range_key){ text_at(&cells[0], row), text_at(&cells[1], row),
					  cells__int(&cells[2], row) };
		if (!key.command || !key.host) {
			range_key__free(&key);
			return -ENOMEM;
		}
		append_range(r, &key);
		range_key__free(&r->begin);
		r->begin = key;
	}
	r->row_cnt += cnt;
	return 0;
}

static int take_groups(struct ranges *r, duckdb_result *result, uint64_t *total)
{
	duckdb_data_chunk chunk;
	int err = 0;

	*total = 0;
	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct cells cells[4];

		for (idx_t c = 0; c < 4; c++)
			cells[c] = cells__on(duckdb_data_chunk_get_vector(chunk, c));
		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk) && !err; i++) {
			*total += (uint64_t)cells__int(&cells[3], i);
			err = take_group(r, cells, i);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	append_range(r, NULL);
	return err;
}

/* Writes EXCLUDE ("a", "b"). */
static int find_columns(struct db *db, struct ranges *r, uint64_t with_values)
{
	char *sql = share__read("sql/merge/columns.sql");
	duckdb_result result = { 0 };
	duckdb_data_chunk chunk;
	bool any = false;
	int err = sql ? 0 : -ENOENT;

	if (!err && duckdb_query(db->connection, sql, &result) != DuckDBSuccess)
		err = -EIO;
	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		struct cells id = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells name = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			int64_t n = cells__int(&id, i);
			char *s = n < 63 && !(with_values >> n & 1) ? text_at(&name, i) : NULL;

			if (!s)
				continue;
			buf__str(&r->columns, any ? ", " : " EXCLUDE (");
			db__append_quoted(&r->columns, s, '"');
			free(s);
			any = true;
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	free(sql);
	buf__str(&r->columns, any ? ")" : "");
	buf__u8(&r->columns, 0);
	return err ? err : buf__err(&r->columns);
}

static int make_ranges(struct db *db, struct ranges *r, uint64_t *cnt)
{
	char *sql = share__read("sql/merge/groups.sql");
	duckdb_result result = { 0 };
	int err = sql ? 0 : -ENOENT;

	if (!err && duckdb_query(db->connection, sql, &result) != DuckDBSuccess)
		err = -EIO;
	if (!err)
		err = take_groups(r, &result, cnt);
	duckdb_destroy_result(&result);
	free(sql);
	return err;
}

int merge_ranges__make_view(struct db *db, uint64_t with_values, uint64_t *cnt)
{
	struct ranges r = { .is_first = true };
	int err = find_columns(db, &r, with_values);

	buf__str(&r.view, "CREATE OR REPLACE TEMP VIEW merge_rows AS ");
	if (!err)
		err = make_ranges(db, &r, cnt);
	buf__u8(&r.view, 0);
	if (!err)
		err = buf__err(&r.view);
	if (err == -ENOMEM)
		log__error("out of memory");
	if (!err)
		err = db__command(db, (const char *)r.view.data);
	range_key__free(&r.begin);
	buf__free(&r.columns);
	buf__free(&r.view);
	return err;
}
