// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeunit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/fleet/mergeevents.h"
#include "stacksexport/fleet/mergefacts.h"

/* DuckDB makes Bloom filters for the columns with a dictionary. */
/* A stack has some dozens of frames with texts: row groups are small, so that they fit into memory.
 */
#define COPY_OPTIONS                                                                   \
	"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 8192, " \
	"USE_TMP_FILE false"

static int mergeunit_no_memory(void)
{
	log__error("out of memory");
	return -ENOMEM;
}

/* Runs a query; the caller destroys the result. Does not log errors. */
static int merge_query(struct merger *m, const char *sql, duckdb_result *out)
{
	duckdb_prepared_statement prepared = NULL;
	duckdb_pending_result pending = NULL;
	duckdb_state state = duckdb_prepare(m->db.connection, sql, &prepared);

	*out = (duckdb_result){ 0 };
	if (state == DuckDBSuccess)
		state = duckdb_pending_prepared(prepared, &pending);
	if (state == DuckDBSuccess)
		state = db__finish_pending(pending, out);
	else /* sets the reason in *out */
		duckdb_query(m->db.connection, sql, out);
	duckdb_destroy_pending(&pending);
	duckdb_destroy_prepare(&prepared);
	return state == DuckDBSuccess ? 0 : -EIO;
}

/* The integer in the first row; 0 without one. */
static int64_t mergeunit_first_integer(duckdb_result *result)
{
	duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
	int64_t n = 0;

	if (chunk && duckdb_data_chunk_get_size(chunk)) {
		struct cells cells = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		n = cells__int(&cells, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	return n;
}

static int mergeunit_set_bounds(struct merger *m)
{
	const struct fleet_part *p = &m->unit.part;
	char day[FLEET_PART_NAME_SZ];
	struct buf sql = { 0 };
	int err;

	fleet_part__folder(p, day);
	buf__printf(&sql,
		    "SET VARIABLE merge_from = %" PRId64 "; SET VARIABLE merge_to = %" PRId64 ";",
		    fleet_partition__begin_ns(p->table, p->partition),
		    fleet_partition__begin_ns(p->table, p->partition + 1));
	if (p->table == FLEET_STACKS) {
		struct buf folder = { 0 };

		buf__printf(&folder, "%s/%s", m->fleet.dir, day);
		buf__u8(&folder, 0);
		buf__str(&sql,
			 "CREATE OR REPLACE TEMP VIEW merged_stacks AS SELECT stack_id FROM ");
		if (!buf__err(&folder) && access((const char *)folder.data, F_OK) == 0) {
			buf__reset(&folder);
			buf__printf(&folder, "%s/%s/*.parquet", m->fleet.dir, day);
			buf__u8(&folder, 0);
			buf__str(&sql, "read_parquet(");
			db__append_quoted(&sql, (const char *)folder.data, '\'');
			buf__str(&sql, ")");
		} else {
			buf__str(&sql, "(SELECT 0::BIGINT AS stack_id) WHERE false");
		}
		buf__free(&folder);
	}
	buf__u8(&sql, 0);
	err = buf__err(&sql) ? mergeunit_no_memory() : db__command(&m->db, (const char *)sql.data);
	buf__free(&sql);
	return err;
}

/* SET VARIABLE merge_files. Stops at the first failure. */
static int mergeunit_set_files(struct merger *m, size_t first, size_t cnt)
{
	char **paths = calloc(cnt, sizeof(*paths));
	int err = paths ? 0 : mergeunit_no_memory();

	for (size_t i = 0; i < cnt && !err; i++) {
		paths[i] =
			merge_inputs__path(&m->in, m->unit.batches[first + i], m->unit.part.table);
		err = paths[i] ? 0 : mergeunit_no_memory();
	}
	if (!err)
		err = merge_facts__set_files(&m->db, paths, cnt);
	for (size_t i = 0; paths && i < cnt; i++)
		free(paths[i]);
	free(paths);
	return err;
}

/* The names of all sources that the inputs were recorded with. All batches of a recording have the
 * same, so one file of each folder is read. */
static int mergeunit_read_sources(struct merger *m, struct buf *out)
{
	struct merge_unit *u = &m->unit;
	struct merge_batch *all[MERGE_UNIT_MAX];
	size_t cnt = 0;
	duckdb_result result;
	int err;

	memcpy(all, u->batches, sizeof(all));
	for (size_t i = 0; i < u->cnt; i++)
		if (!i || all[i]->folder != all[i - 1]->folder)
			u->batches[cnt++] = all[i];
	err = mergeunit_set_files(m, 0, cnt);
	memcpy(u->batches, all, sizeof(all));
	if (err)
		return err;
	err = db__run_file(&m->db, "sql/merge/sources.sql", &result);
	if (!err) {
		duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
		struct cells cells =
			cells__on(chunk ? duckdb_data_chunk_get_vector(chunk, 0) : NULL);
		size_t sz = 0;
		const char *s = chunk ? cells__str(&cells, 0, &sz) : NULL;

		buf__append(out, s ? s : "", sz);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	buf__u8(out, 0);
	return err ? err : buf__err(out);
}

static int mergeunit_make_copy(struct merger *m, const char *staging, struct buf *sql)
{
	struct buf sources = { 0 };
	int err = mergeunit_read_sources(m, &sources);

	if (!err) {
		buf__str(sql, "COPY (");
		buf__str(sql, m->sql[m->unit.part.table]);
		buf__str(sql, "\n) TO ");
		db__append_quoted(sql, staging, '\'');
		buf__str(sql, " (" COPY_OPTIONS ", KV_METADATA {'" FLEET_VERSION_KEY
			      "': '" FLEET_VERSION "', 'stacks.sources': ");
		db__append_quoted(sql, (const char *)sources.data, '\'');
		buf__str(sql, "})");
		buf__u8(sql, 0);
		err = buf__err(sql) ? mergeunit_no_memory() : 0;
	}
	buf__free(&sources);
	return err;
}

/* Returns true if all columns of the file can be read. */
static bool mergeunit_input_is_good(struct merger *m, size_t i, char why[256])
{
	duckdb_result result;
	bool good;

	if (mergeunit_set_files(m, i, 1) != 0)
		return true; /* not the file's fault */
	good = merge_query(
		       m,
		       "SELECT max(hash(COLUMNS(*))) FROM read_parquet(getvariable('merge_files'))",
		       &result) == 0;
	if (!good)
		snprintf(why, 256, "%s", duckdb_result_error(&result));
	duckdb_destroy_result(&result);
	return good;
}

/* Leaves out the inputs that cannot be read. Returns -EAGAIN, or -EIO if there are none: then the
 * reason `words` is not in an input. */
static int mergeunit_blame_inputs(struct merger *m, const char *words)
{
	size_t bad = 0;

	for (size_t i = 0; i < m->unit.cnt; i++) {
		struct merge_batch *b = m->unit.batches[i];
		char why[256], *path;

		if (mergeunit_input_is_good(m, i, why))
			continue;
		path = merge_inputs__path(&m->in, b, m->unit.part.table);
		log__warn("left out: %s: %.*s", path ? path : "?", (int)strcspn(why, "\n"), why);
		free(path);
		b->is_bad = true;
		bad++;
	}
	if (bad)
		return -EAGAIN;
	log__error("cannot merge: %s", words && *words ? words : "the inputs cannot be read");
	return -EIO;
}

/* Leaves out all inputs of the unit. All have the same columns, and the table cannot take these. */
static int mergeunit_leave_out_all(struct merger *m, const char *why)
{
	for (size_t i = 0; i < m->unit.cnt; i++) {
		struct merge_batch *b = m->unit.batches[i];
		char *path = merge_inputs__path(&m->in, b, m->unit.part.table);

		log__warn("left out: %s: %s", path ? path : "?", why);
		free(path);
		b->is_bad = true;
	}
	return -EAGAIN;
}

static int mergeunit_write_events(struct merger *m, const char *staging, uint64_t *row_cnt)
{
	const struct merge_unit *u = &m->unit;
	struct merge_events events = { .db = &m->db, .path = staging };
	struct buf sources = { 0 }, state = { 0 };
	char why[MERGE_WHY_SZ];
	int err = mergeunit_read_sources(m, &sources);

	buf__printf(&state, "%s/" FLEET_STATE, m->fleet.dir);
	buf__u8(&state, 0);
	if (!err && buf__err(&state))
		err = mergeunit_no_memory();

	for (size_t i = 0; i < u->cnt; i++) {
		events.with_values |= u->batches[i]->files[FLEET_EVENTS].with_values;
		events.at_most += u->batches[i]->files[FLEET_EVENTS].row_cnt;
	}
	events.sources = (const char *)sources.data;
	events.dir = (const char *)state.data;
	if (!err)
		err = mergeunit_set_files(m, 0, u->cnt);
	if (!err)
		err = merge_events__write(&events, row_cnt, why);
	if (err == -EIO)
		err = mergeunit_blame_inputs(m, why);
	else if (err == -EBADMSG)
		err = mergeunit_leave_out_all(m, why);
	buf__free(&state);
	buf__free(&sources);
	return err;
}

static int mergeunit_copy_rows(struct merger *m, const char *staging, uint64_t *row_cnt)
{
	struct buf sql = { 0 };
	duckdb_result result = { 0 };
	int err = mergeunit_make_copy(m, staging, &sql);

	if (!err)
		err = mergeunit_set_files(m, 0, m->unit.cnt);
	if (!err && merge_query(m, (const char *)sql.data, &result) != 0) {
		char *words =
			strdup(duckdb_result_error(&result) ? duckdb_result_error(&result) : "");

		err = mergeunit_blame_inputs(m, words);
		free(words);
	} else if (!err) {
		*row_cnt = (uint64_t)mergeunit_first_integer(&result);
	}
	duckdb_destroy_result(&result);
	buf__free(&sql);
	return err;
}

/* Returns true if all rows of the input are in the ledger, with this part. */
static bool mergeunit_completes(struct merger *m, const struct merge_batch *b)
{
	struct fleet_part p = m->unit.part;
	int64_t last = merge_batch__last(b, p.table), this = p.partition;

	for (p.partition = merge_batch__first(b, p.table); p.partition <= last; p.partition++)
		if (p.partition != this && !merge_ledger__has(&m->ledger, &p, b->files[p.table].id))
			return false;
	return true;
}

static int mergeunit_commit(struct merger *m, uint64_t row_cnt)
{
	const struct merge_unit *u = &m->unit;
	bool done[MERGE_UNIT_MAX];
	struct buf entry = { 0 };
	int err;

	for (size_t i = 0; i < u->cnt; i++)
		done[i] = mergeunit_completes(m, u->batches[i]);
	buf__printf(&entry, "# partition %" PRId64 "\n# %" PRIu64 " rows\n", u->part.partition,
		    row_cnt);
	for (size_t i = 0; i < u->cnt; i++)
		merge_ledger__print(&entry, u->batches[i]->files[u->part.table].id, done[i]);
	err = buf__err(&entry) ? mergeunit_no_memory()
			       : fleet__commit(&m->fleet, &u->part, &entry, row_cnt > 0);
	for (size_t i = 0; i < u->cnt && !err; i++) {
		struct merge_file *file = &u->batches[i]->files[u->part.table];

		file->is_done = done[i];
		m->read_sz += file->is_done ? file->sz : 0;
		err = merge_ledger__add(&m->ledger, &u->part, file->id, file->is_done);
	}
	buf__free(&entry);
	return err;
}

int merge_unit__write(struct merger *m)
{
	char *staging = fleet__staging(&m->fleet, &m->unit.part);
	uint64_t row_cnt = 0;
	struct stat st = { 0 };
	int err = staging ? mergeunit_set_bounds(m) : mergeunit_no_memory();

	if (!err)
		err = (m->unit.part.table == FLEET_EVENTS
			       ? mergeunit_write_events
			       : mergeunit_copy_rows)(m, staging, &row_cnt);
	if (!err && stat(staging, &st) == 0 && !row_cnt)
		unlink(staging);
	if (!err)
		err = mergeunit_commit(m, row_cnt);
	if (!err && row_cnt) {
		m->part_cnt++;
		m->row_cnt += m->unit.part.table == FLEET_EVENTS ? row_cnt : 0;
		m->written_sz += (uint64_t)st.st_size;
	}
	free(staging);
	return err;
}
