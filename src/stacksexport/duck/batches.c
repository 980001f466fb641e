// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/batches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

/* Returns the length of the first line of DuckDB's message; advice follows it. */
static int batches_first_line(const char *words)
{
	return words ? (int)strcspn(words, "\n") : 0;
}

/* Leaves out the batches that have a file in the result (sql/files.sql). */
static void batches_leave_out(struct recfiles *files, duckdb_result *result)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct cells file = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells problem = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			size_t path_sz, why_sz;
			const char *path = cells__str(&file, i, &path_sz);
			const char *why = cells__str(&problem, i, &why_sz);

			if (path && why)
				recfiles__leave_out(files, path, path_sz, why, why_sz);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
}

/* A part of a fleet folder is no batch of its own: only its end is read. */
static const char footer_sql[] = "SELECT NULL::VARCHAR, NULL::VARCHAR FROM parquet_schema(coalesce("
				 "getvariable('events_files'), getvariable('stacktraces_files'), "
				 "getvariable('processes_files')))";

/* Checks each batch alone, because a file with an unreadable end fails the joint check. */
static int batches_check_each(struct db *db, struct recfiles *files, const char *batch_sql)
{
	int err = 0;

	for (size_t i = files->cnt; i-- > 0 && !err;) {
		bool whole = files->pairs[i].events && files->pairs[i].stacktraces;
		const char *sql = whole ? batch_sql : footer_sql;
		struct recfiles one = { .pairs = &files->pairs[i], .cnt = 1 };
		const char *paths[RECFILES_OF_PAIR], *path;
		duckdb_result result;

		recfile_pair__paths(&files->pairs[i], paths);
		path = paths[0];
		err = db__set_files(db, &one);
		if (!err && duckdb_query(db->connection, sql, &result) != DuckDBSuccess) {
			const char *words = duckdb_result_error(&result);
			char why[256];

			if (recfile_pair__is_removed(&files->pairs[i]))
				snprintf(why, sizeof(why),
					 "it was removed since (collector --keep)");
			else
				snprintf(why, sizeof(why), "the end of a file is damaged: %.*s",
					 batches_first_line(words), words ? words : "");
			recfiles__leave_out(files, path, strlen(path), why, strlen(why));
		} else if (!err) {
			batches_leave_out(files, &result);
		}
		if (!err)
			duckdb_destroy_result(&result);
	}
	return err;
}

/* Checks all files together. Returns false if that fails. */
static bool batches_check_all(struct db *db, struct recfiles *files, const char *sql)
{
	duckdb_result result;
	bool ok = duckdb_query(db->connection, sql, &result) == DuckDBSuccess;

	if (ok)
		batches_leave_out(files, &result);
	duckdb_destroy_result(&result);
	return ok;
}

int batches__check(struct db *db, struct recfiles *files)
{
	char *sql = share__read("sql/files.sql");
	int err = sql ? db__set_files(db, files) : -ENOENT;

	if (!err && !batches_check_all(db, files, sql)) {
		err = batches_check_each(db, files, sql);
		if (!err)
			err = recfiles__check_left(files);
		if (!err && files->has_parts)
			err = db__set_files(db, files);
		if (!err && files->has_parts && !batches_check_all(db, files, sql)) {
			log__error("cannot read %s: its files do not fit together", files->label);
			err = -EBADMSG;
		}
	}
	free(sql);
	if (!err)
		err = recfiles__check_left(files);
	return err ? err : db__set_files(db, files);
}

static void batches_blame(struct db *db, const char *path)
{
	struct buf sql = { 0 };
	duckdb_result result;

	buf__str(&sql, "SELECT max(hash(COLUMNS(*))) FROM read_parquet(");
	db__append_quoted(&sql, path, '\'');
	buf__append(&sql, ")", sizeof(")"));
	if (buf__err(&sql) == 0) {
		if (duckdb_query(db->connection, (const char *)sql.data, &result) != DuckDBSuccess)
			log__error("%s is damaged: %.*s; move the files of this batch away to "
				   "read the rest of the recording",
				   path, batches_first_line(duckdb_result_error(&result)),
				   duckdb_result_error(&result));
		duckdb_destroy_result(&result);
	}
	buf__free(&sql);
}

void batches__blame(struct db *db, const struct recfiles *files)
{
	for (size_t i = 0; i < files->cnt; i++) {
		const char *paths[RECFILES_OF_PAIR];
		size_t cnt = recfile_pair__paths(&files->pairs[i], paths);

		if (recfile_pair__is_removed(&files->pairs[i]))
			continue; /* db.c says so */
		for (size_t n = 0; n < cnt; n++)
			batches_blame(db, paths[n]);
	}
}
