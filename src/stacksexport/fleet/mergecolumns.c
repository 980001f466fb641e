// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergecolumns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

void fleet_events__init(struct fleet_events *e)
{
	e->table = events_table;
	e->table.sorted = false; /* not by time */
	e->table.columns = e->columns;
	for (size_t i = 0; i < events_table.column_cnt; i++) {
		e->columns[i] = events_table.columns[i];
		if (e->columns[i].type == COLUMN_UINT64)
			e->columns[i].type = COLUMN_INT64;
		/* lead() and outer joins of ClickHouse give 0, not null, for other columns */
		e->columns[i].optional = !e->columns[i].nullable;
	}
}

/* A column of the inputs. */
struct input_column {
	const char *name; /* without a NUL */
	size_t name_sz;
	bool has_values;
};

static bool mergecolumns_is_named(const struct input_column *in, const char *name)
{
	return strlen(name) == in->name_sz && memcmp(name, in->name, in->name_sz) == 0;
}

static int mergecolumns_take_column(struct merge_columns *c, const struct input_column *in,
				    char *why)
{
	const struct column *column = events_table.columns;
	size_t i = 0;

	while (i < events_table.column_cnt && !mergecolumns_is_named(in, column[i].name))
		i++;
	if (i == events_table.column_cnt) {
		snprintf(why, MERGE_WHY_SZ,
			 "this version of stacksexport does not know its column '%.*s'",
			 (int)in->name_sz, in->name);
		return -EBADMSG;
	}
	if (!in->has_values)
		return 0;
	buf__str(&c->select, c->cnt ? ", " : "");
	db__append_quoted(&c->select, column[i].name, '"');
	c->row_sz += column__width(&column[i]) + (column[i].present != 0);
	c->of[c->cnt++] = i;
	return 0;
}

static int mergecolumns_take_columns(struct merge_columns *c, duckdb_result *result,
				     uint64_t with_values, char *why)
{
	duckdb_data_chunk chunk;
	uint64_t seen = 0;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		struct cells id = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells name = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk) && !err; i++) {
			int64_t n = cells__int(&id, i);
			struct input_column in = { .has_values = n > 62 || with_values >> n & 1 };

			in.name = cells__str(&name, i, &in.name_sz);
			seen |= mergecolumns_is_named(&in, "command")	  ? 1
				: mergecolumns_is_named(&in, "timestamp") ? 2
									  : 0;
			err = c->cnt < TABLE_COLUMNS_MAX ? mergecolumns_take_column(c, &in, why)
							 : -EBADMSG;
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	if (!err && seen != 3) {
		snprintf(why, MERGE_WHY_SZ, "it has no column '%s'",
			 seen & 1 ? "timestamp" : "command");
		err = -EBADMSG;
	}
	return err;
}

int merge_columns__read(struct merge_columns *c, struct db *db, uint64_t with_values,
			char why[MERGE_WHY_SZ])
{
	char *sql = share__read("sql/merge/columns.sql");
	duckdb_result result = { 0 };
	int err = sql ? 0 : -ENOENT;

	*c = (struct merge_columns){ 0 };
	if (!err && duckdb_query(db->connection, sql, &result) != DuckDBSuccess)
		err = -EIO;
	if (!err)
		err = mergecolumns_take_columns(c, &result, with_values, why);
	duckdb_destroy_result(&result);
	free(sql);
	buf__u8(&c->select, 0);
	return err ? err : buf__err(&c->select);
}

void merge_columns__free(struct merge_columns *c)
{
	buf__free(&c->select);
}
