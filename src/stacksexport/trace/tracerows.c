// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/tracerows.h"

#include <string.h>

static int tracerows_take_chunk(duckdb_data_chunk chunk,
				int (*take)(const struct trace_rows *, idx_t row, void *arg),
				void *arg)
{
	struct trace_rows rows;
	int err = 0;

	for (idx_t i = 0; i < EVENT_COLUMN_CNT; i++)
		rows.columns[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i));
	rows.arg = cells__on(duckdb_list_vector_get_child(rows.columns[EVENT_ARGS].vector));
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !err; row++)
		err = take(&rows, row, arg);
	return err;
}

int trace_rows__each(struct db *db, const char *path,
		     int (*take)(const struct trace_rows *, idx_t row, void *arg), void *arg)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result = { 0 };
	int err = db__run_file(db, path, &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		err = tracerows_take_chunk(chunk, take, arg);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

enum event_shape trace_rows__shape(const struct trace_rows *r, idx_t row)
{
	static const char *const names[] = { [SHAPE_COMPLETE] = "complete",
					     [SHAPE_INSTANT] = "instant",
					     [SHAPE_COUNTER] = "counter",
					     [SHAPE_SAMPLE] = "sample" };
	size_t sz, i = 0;
	const char *event = cells__str(&r->columns[EVENT_EVENT], row, &sz);

	while (strlen(names[i]) != sz || memcmp(names[i], event, sz) != 0)
		i++; /* sql/trace/rows.sql passes only these */
	return (enum event_shape)i;
}

int64_t trace_rows__number(const struct trace_rows *r, enum event_column c, idx_t row)
{
	return cells__int(&r->columns[c], row);
}

bool trace_rows__key(const struct trace_rows *r, enum event_column c, idx_t row, uint64_t *key)
{
	if (cells__is_null(&r->columns[c], row))
		return false;
	*key = ((const uint64_t *)r->columns[c].data)[row];
	return true;
}

const char *trace_rows__arg(const struct trace_rows *r, idx_t row, size_t i, size_t *sz)
{
	duckdb_list_entry list = ((const duckdb_list_entry *)r->columns[EVENT_ARGS].data)[row];

	return cells__str(&r->arg, list.offset + i, sz);
}
