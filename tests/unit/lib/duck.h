/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads recordings with DuckDB. */
#ifndef UNIT_DUCK_H
#define UNIT_DUCK_H

#include <duckdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "stacksexport/duck/cells.h"

static inline void duck__run(duckdb_connection db, duckdb_result *out, const char *sql)
{
	if (duckdb_query(db, sql, out) != DuckDBSuccess)
		fail_msg("%s: %s", sql, duckdb_result_error(out));
}

/* Returns the first column of the query's result, as lines of text, for the caller to free.
 * `events`, `stacktraces` and `processes` are the existing files. */
static inline char *duck__read(const char *dir, const char *sql)
{
	static const char *const tables[] = { "events", "stacktraces", "processes" };
	duckdb_data_chunk chunk;
	duckdb_connection db;
	duckdb_database base;
	duckdb_result result;
	char view[256];
	struct buf text = { 0 };

	assert_int_equal(duckdb_open(NULL, &base), DuckDBSuccess);
	assert_int_equal(duckdb_connect(base, &db), DuckDBSuccess);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(view, sizeof(view),
			 "CREATE VIEW %s AS FROM read_parquet('%s/%s-*.parquet', filename := true)",
			 tables[i], dir, tables[i]);
		duck__run(db, &result, view);
		duckdb_destroy_result(&result);
	}
	duck__run(db, &result, sql);
	while ((chunk = duckdb_fetch_chunk(result))) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
			size_t sz;
			const char *s = cells__str(&c, row, &sz);

			buf__append(&text, s ? s : "-", s ? sz : 1);
			buf__u8(&text, '\n');
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	duckdb_disconnect(&db);
	duckdb_close(&base);
	buf__u8(&text, 0);
	return (char *)text.data;
}

static inline void duck__reads(const char *dir, const char *sql, const char *expected)
{
	char *text = duck__read(dir, sql);

	assert_string_equal(text, expected);
	free(text);
}

#endif
