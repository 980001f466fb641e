// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/dbopen.h"

#include "stacksexport/duck/batches.h"
#include "stacksexport/duck/following.h"

/* Faster views, for recordings for which the query `condition` gives 1. */
static const struct shortcut {
	const char *condition, *views;
	int (*prepare)(struct db *); /* NULL: nothing */
	bool needs_all;		     /* true only of the present files, not of later ones */
} shortcuts[] = {
	{ "sql/is_in_order.sql", "sql/in_order.sql", following__register, true },
	{ "sql/has_first_stacks.sql", "sql/first_stacks.sql", NULL, false },
};

static int db__shorten(struct db *db, const struct shortcut *s)
{
	int64_t holds = 0;
	int64_t *const fields[] = { &holds };
	int err = db->files->grow && s->needs_all ? 0
						  : db__read_integers(db, s->condition, fields, 1);

	if (!err && holds && s->prepare)
		err = s->prepare(db);
	if (holds && s->prepare == following__register)
		db->in_order = true;
	return err || !holds ? err : db__script(db, s->views);
}

static int db__compare_columns(struct db *db)
{
	int64_t same = db->files->cnt == 1;
	int64_t *const fields[] = { &same };
	int err = same ? 0 : db__read_integers(db, "sql/same_columns.sql", fields, 1);

	db->same_columns = same;
	return err ? err : db__set_unions(db);
}

int db__hide_interpreter(struct db *db)
{
	int64_t there = 0;
	int64_t *const fields[] = { &there };
	int err = db__read_integers(db, "sql/has_interpreter.sql", fields, 1);

	return err || !there ? err : db__script(db, "sql/without_interpreter.sql");
}

/* Recordings of this size are read faster with threads than without. DuckDB wakes its threads for
 * every statement, which takes 10 to 18 % of the CPU time of a short command. */
#define THREADS_SZ (1 << 20)

static bool dbopen_needs_threads(const struct recfiles *files)
{
	off_t sz = 0;

	for (size_t i = 0; i < files->cnt && sz < THREADS_SZ; i++)
		sz += recfile_pair__sz(&files->pairs[i]);
	return files->grow || sz >= THREADS_SZ;
}

/* Starts one thread more than there are CPUs: the caller's thread works only on its own queries,
 * and following() runs its queries in one of the others. */
static int db__start_threads(struct db *db)
{
	return db__command(db, "RESET GLOBAL threads;"
			       "SET threads = current_setting('threads') + 1");
}

int db__open(struct db *db, struct recfiles *files)
{
	int err;

	*db = (struct db){ .files = files, .blame = batches__blame };
	err = db__connect(db);
	if (!err && dbopen_needs_threads(files))
		err = db__start_threads(db);
	if (!err) /* for duckdb_query_progress(), on this connection */
		err = db__command(db, "SET enable_progress_bar_print = false;"
				      "SET enable_progress_bar = true");
	if (!err) /* each view reads the columns of every file */
		err = db__command(db, "SET GLOBAL parquet_metadata_cache = true");
	if (!err)
		err = batches__check(db, files);
	if (!err)
		err = db__compare_columns(db);
	if (!err && files->has_parts)
		err = db__script(db, "sql/fleet_tables.sql");
	if (!err)
		err = db__script(db, "sql/stacks.sql");
	for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]) && !err; i++)
		err = db__shorten(db, &shortcuts[i]);
	if (!err)
		err = db__script(db, "sql/datafusion.sql");
	return err;
}
