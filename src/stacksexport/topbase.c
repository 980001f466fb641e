// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/topbase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

bool top_base__by_total(const struct export_options *o)
{
	return o->sort && strcmp(o->sort, "total") == 0;
}

int top_base__check_order(const struct export_options *o)
{
	if (!o->sort || top_base__by_total(o) || strcmp(o->sort, "self") == 0)
		return STATUS_OK;
	return export_options__wrong(o, "--sort '%s': expected self or total", o->sort);
}

/* Runs a script that makes a table. Returns the number of its rows, or -errno. */
static int64_t topbase_make_table(struct db *db, const char *path)
{
	duckdb_result result;
	duckdb_data_chunk chunk = NULL;
	int64_t cnt = db__run_file(db, path, &result);

	if (cnt == 0)
		chunk = duckdb_fetch_chunk(result);
	if (chunk && duckdb_data_chunk_get_size(chunk)) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		cnt = cells__int(&c, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return cnt;
}

int top_base__samples(struct db *db, const struct top_base_options *o, struct top_base_rows *rows)
{
	int err = db__set_variable(db, "top_by_total", duckdb_create_bool(o->by_total));

	*rows = (struct top_base_rows){ 0 };
	if (!err)
		err = db__set_variable(db, "grouped_by", duckdb_create_varchar(o->by));
	rows->cpu = err < 0 ? err : topbase_make_table(db, "sql/top/cpu_samples.sql");
	rows->offcpu =
		rows->cpu < 0 ? rows->cpu : topbase_make_table(db, "sql/top/offcpu_waits.sql");
	return rows->offcpu < 0 ? (int)rows->offcpu : 0;
}

int top_base__functions(struct db *db)
{
	static const char *const scripts[] = { "sql/top/stack_functions.sql",
					       "sql/top/waiting_functions.sql",
					       "sql/top/sorted_waits.sql" };
	int64_t made = 0;

	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts) && made >= 0; i++)
		made = topbase_make_table(db, scripts[i]);
	return made < 0 ? (int)made : 0;
}

int top_base__keep(struct db *db, const char *table, const char *path)
{
	char *text = share__read(path);
	duckdb_result result = { 0 };
	struct statements st = { 0 };
	struct buf sql = { 0 };
	int err = text ? statements__parse(&st, text) : -ENOENT;

	if (!err) {
		buf__printf(&sql, "CREATE OR REPLACE TEMP TABLE %s AS ", table);
		buf__str(&sql, st.sql[st.cnt - 1]);
		buf__u8(&sql, 0);
		err = buf__err(&sql);
	}
	if (!err)
		err = db__run(db, (const char *)sql.data, &result);
	duckdb_destroy_result(&result);
	statements__free(&st);
	buf__free(&sql);
	free(text);
	return err;
}
