// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/live/livedata.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/request.h"
#include "stacksexport/topbase.h"
#include "stacksexport/toptable.h"

#define ROWS_MAX 200 /* of a table */

static const struct {
	const char *by, *rows; /* rows: a table of top; NULL: the flame graph */
	const char *path;      /* of the query that shows these rows */
} panes[LIVE_PANE_CNT] = {
	[LIVE_FUNCTIONS] = { "command", "sql/top/cpu_functions.sql", "sql/live/functions.sql" },
	[LIVE_WAITS] = { "command", "sql/top/offcpu_functions.sql", "sql/live/waits.sql" },
	[LIVE_PROCESSES] = { "process", "sql/top/commands.sql", "sql/live/processes.sql" },
	[LIVE_FLAME] = { "command", NULL, NULL },
};

void live_data__free(struct live_data *d)
{
	free(d->text);
	trie__free(&d->trie);
	free(d->total);
	for (size_t i = 0; i < d->name_cnt; i++)
		free(d->names[i]);
	free(d->names);
	*d = (struct live_data){ 0 };
}

/* ---- flame graph ---------------------------------------------------------------------------- */

static uint32_t livedata_path_node(struct live_data *d, const struct cells *list,
				   const int32_t *ids, idx_t row)
{
	duckdb_list_entry path = cells__list(list, row);
	uint32_t node = TRIE_ROOT;

	for (uint64_t i = 0; i < path.length && node != KEYMAP_NONE; i++)
		node = trie__child(&d->trie, node, (uint32_t)ids[path.offset + i]);
	return node;
}

/* Adds the rows to the tree. The list of self times grows with it. */
static int livedata_take_paths(struct live_data *d, duckdb_data_chunk chunk, int64_t **self,
			       size_t *cnt)
{
	struct cells list = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct cells ns = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
	const int32_t *ids = duckdb_vector_get_data(duckdb_list_vector_get_child(list.vector));

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		uint32_t node = livedata_path_node(d, &list, ids, row);
		size_t need = trie__cnt(&d->trie);

		if (node == KEYMAP_NONE)
			return -ENOMEM;
		if (need > *cnt) {
			int64_t *more = reallocarray(*self, 2 * need, sizeof(*more));

			if (!more)
				return -ENOMEM;
			memset(more + *cnt, 0, (2 * need - *cnt) * sizeof(*more));
			*self = more;
			*cnt = 2 * need;
		}
		(*self)[node] += cells__int(&ns, row);
	}
	return 0;
}

static int livedata_read_paths(struct live_data *d, struct db *db)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int64_t *self = NULL;
	size_t cnt = 0;
	int err = db__run_file(db, "sql/live/flame.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		err = livedata_take_paths(d, chunk, &self, &cnt);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	if (!err && cnt) {
		d->total = calloc(trie__cnt(&d->trie), sizeof(*d->total));
		if (d->total)
			trie__sum(&d->trie, self, d->total);
	}
	free(self);
	return err;
}

static int livedata_take_names(struct live_data *d, duckdb_data_chunk chunk)
{
	struct cells id = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct cells name = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		size_t at = (size_t)cells__int(&id, row), sz;
		const char *s = cells__str(&name, row, &sz);

		if (at >= d->name_cnt) {
			char **names = reallocarray(d->names, 2 * at + 16, sizeof(*names));

			if (!names)
				return -ENOMEM;
			memset(names + d->name_cnt, 0,
			       (2 * at + 16 - d->name_cnt) * sizeof(*names));
			d->names = names;
			d->name_cnt = 2 * at + 16;
		}
		free(d->names[at]);
		d->names[at] = strndup(s ? s : "", sz);
	}
	return 0;
}

static int livedata_read_flame(struct live_data *d, struct db *db)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = livedata_read_paths(d, db);

	if (err)
		return err;
	err = db__run_file(db, "sql/live/names.sql", &result);
	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		err = livedata_take_names(d, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int livedata_read_table(struct live_data *d, struct db *db, const struct live_request *q)
{
	struct top_table_options o = { .by = panes[q->pane].by,
				       .row_max = ROWS_MAX,
				       .width = q->width,
				       .out = open_memstream(&d->text, &d->text_sz) };
	int err = o.out ? top_base__keep(db, "live_rows", panes[q->pane].rows) : -ENOMEM;

	if (!err)
		err = top_table__print(db, panes[q->pane].path, &o);
	if (o.out && fclose(o.out) != 0)
		err = -ENOMEM;
	return err;
}

/* Lists the files that can have events of the last seconds: a batch lasts a second or more. */
static size_t livedata_newest_files(const glob_t *found, const char **files, unsigned seconds)
{
	size_t max = seconds + 3 < EXPORT_ARGUMENTS_MAX ? seconds + 3 : EXPORT_ARGUMENTS_MAX;
	size_t cnt = found->gl_pathc < max ? found->gl_pathc : max;

	for (size_t i = 0; i < cnt; i++)
		files[i] = found->gl_pathv[found->gl_pathc - cnt + i];
	return cnt;
}

static int livedata_read_files(struct live_data *d, const struct live_request *q,
			       struct export_options *options)
{
	const struct top_base_options base = { panes[q->pane].by, q->by_total };
	struct request r = { 0 };
	struct top_base_rows rows;
	int status = request__open(&r, options);
	int err = status == STATUS_OK ? top_base__samples(&r.db, &base, &rows) : -EIO;

	if (!err)
		err = top_base__functions(&r.db);
	if (!err)
		err = panes[q->pane].path ? livedata_read_table(d, &r.db, q)
					  : livedata_read_flame(d, &r.db);
	request__close(&r);
	return err;
}

bool live_data__read(struct live_data *d, const struct live_request *q)
{
	struct export_options options = *q->options;
	struct live_data read = { 0 };
	char pattern[4096], from[32];
	glob_t found = { 0 };
	int err = -ENOENT;

	snprintf(pattern, sizeof(pattern), "%s/events-*.parquet", q->recording);
	snprintf(from, sizeof(from), "-%us", q->seconds);
	options.from = options.from ? options.from : from;
	options.given |= OPTION_FROM;
	if (glob(pattern, 0, NULL, &found) == 0)
		options.recording_cnt =
			livedata_newest_files(&found, options.recordings, q->seconds);
	if (found.gl_pathc)
		err = livedata_read_files(&read, q, &options);
	globfree(&found);
	if (err) {
		live_data__free(&read);
		return false;
	}
	live_data__free(d);
	*d = read;
	return true;
}
