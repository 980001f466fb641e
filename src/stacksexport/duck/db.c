// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/progress.h"

static const struct {
	const char *name, *value;
} settings[] = {
	{ "threads", "1" }, /* dbopen.c starts more for large recordings */
	{ "autoload_known_extensions", "false" },
	{ "autoinstall_known_extensions", "false" },
	{ "allow_community_extensions", "false" },
};

static int db__settings(duckdb_config *config)
{
	const char *tmp = getenv("TMPDIR");
	char spill[4096];

	if (duckdb_create_config(config) != DuckDBSuccess)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (duckdb_set_config(*config, settings[i].name, settings[i].value) !=
		    DuckDBSuccess)
			return -EINVAL;
	/* not ".tmp" in the current folder, which another user may own */
	snprintf(spill, sizeof(spill), "%s/stacksexport-%d", tmp && *tmp ? tmp : "/tmp",
		 (int)getpid());
	return duckdb_set_config(*config, "temp_directory", spill) == DuckDBSuccess ? 0 : -EINVAL;
}

int db__connect(struct db *db)
{
	duckdb_config config = NULL;
	char *why = NULL;
	int err = db__settings(&config);

	db->definitions = definitions__new();
	if (!err && !db->definitions)
		err = -ENOMEM;
	if (!err && duckdb_open_ext(NULL, &db->database, config, &why) != DuckDBSuccess)
		err = -EINVAL;
	if (!err && duckdb_connect(db->database, &db->connection) != DuckDBSuccess)
		err = -ENOMEM;
	if (err)
		log__error("cannot start DuckDB: %s", why ? why : strerror(-err));
	duckdb_free(why);
	duckdb_destroy_config(&config);
	return err;
}

static size_t db_count_removed(const struct recfiles *files)
{
	size_t cnt = 0;

	for (size_t i = 0; i < files->cnt; i++)
		cnt += recfile_pair__is_removed(&files->pairs[i]);
	return cnt;
}

bool db__is_interrupt(const char *words)
{
	return words && strncmp(words, "INTERRUPT", strlen("INTERRUPT")) == 0;
}

/* Prints the error line of a failed query. Silent if the program interrupted it. */
static int db_failed(const struct db *db, const char *words)
{
	size_t removed = db_count_removed(db->files);

	if (db__is_interrupt(words))
		return -EINTR;
	if (removed)
		log__error("%zu of %zu batches were removed while they were read (collector "
			   "--keep); run the command again, or select a later time (--from)",
			   removed, db->files->cnt);
	log__error("%s\n(in recording %s)", words ? words : "out of memory", db->files->label);
	return -EINVAL;
}

static int db__run_as_it_is(struct db *db, const char *sql)
{
	duckdb_result result;
	int err = 0;

	if (duckdb_query(db->connection, sql, &result) != DuckDBSuccess)
		err = db_failed(db, duckdb_result_error(&result));
	duckdb_destroy_result(&result);
	return err;
}

static int db_run_definition(const char *statement, void *db)
{
	return db__run_as_it_is(db, statement);
}

static int db__define_for(struct db *db, const char *sql)
{
	return definitions__make(db->definitions, sql, db_run_definition, db);
}

int db__define_all(struct db *db)
{
	return definitions__make_all(db->definitions, db_run_definition, db);
}

int db__command(struct db *db, const char *sql)
{
	int err = db__define_for(db, sql);

	return err ? err : db__run_as_it_is(db, sql);
}

void db__append_quoted(struct buf *sql, const char *s, char quote)
{
	buf__u8(sql, (uint8_t)quote);
	for (; *s; s++) {
		if (*s == quote)
			buf__u8(sql, (uint8_t)quote);
		buf__u8(sql, (uint8_t)*s);
	}
	buf__u8(sql, (uint8_t)quote);
}

/* Appends ['path', …]; `field` is the offset of the path in a pair. Leaves out files that are not
 * there; returns how many are. */
static size_t db_append_paths(struct buf *sql, const struct recfiles *files, size_t field)
{
	size_t cnt = 0;

	buf__str(sql, "[");
	for (size_t i = 0; i < files->cnt; i++) {
		const char *path = *(char *const *)((const char *)&files->pairs[i] + field);

		if (!path)
			continue;
		buf__str(sql, cnt++ ? ", " : "");
		db__append_quoted(sql, path, '\'');
	}
	buf__str(sql, "]");
	return cnt;
}

/* The variables with the files of the recording. */
static const struct file_list {
	const char *variable;
	size_t field; /* offset of the path in a pair */
} file_lists[] = {
	{ "events_files", offsetof(struct recfile_pair, events) },
	{ "stacktraces_files", offsetof(struct recfile_pair, stacktraces) },
	{ "processes_files", offsetof(struct recfile_pair, processes) },
};

#define FILE_LIST_CNT (sizeof(file_lists) / sizeof(file_lists[0]))

int db__lock_down(struct db *db, const char *folder)
{
	struct buf sql = { 0 };
	int err;

	buf__str(&sql, "SET GLOBAL allowed_paths = flatten([");
	for (size_t i = 0; i < FILE_LIST_CNT; i++) {
		buf__str(&sql, i ? ", " : "");
		db_append_paths(&sql, db->files, file_lists[i].field);
	}
	buf__str(&sql, "]); ");
	if (folder) {
		buf__str(&sql, "SET GLOBAL allowed_directories = [");
		db__append_quoted(&sql, folder, '\'');
		buf__str(&sql, "]; ");
	}
	buf__str(&sql, "SET GLOBAL enable_external_access = false;"
		       "SET GLOBAL lock_configuration = true");
	buf__u8(&sql, 0);
	/* the names of files are no names of views */
	err = buf__err(&sql) ? db_failed(db, NULL) : db__run_as_it_is(db, (const char *)sql.data);
	buf__free(&sql);
	return err;
}

/* Runs SET VARIABLE name = ['path', …], or NULL if there is no such file. */
static int db__set_list(struct db *db, const struct file_list *list, const struct recfiles *files)
{
	struct buf sql = { 0 };
	int err;

	buf__printf(&sql, "SET VARIABLE %s = ", list->variable);
	if (!db_append_paths(&sql, files, list->field)) {
		buf__reset(&sql);
		buf__printf(&sql, "SET VARIABLE %s = NULL::VARCHAR[]", list->variable);
	}
	buf__u8(&sql, 0);
	/* the names of files are no names of views */
	err = buf__err(&sql) ? db_failed(db, NULL) : db__run_as_it_is(db, (const char *)sql.data);
	buf__free(&sql);
	return err;
}

int db__set_variable(struct db *db, const char *name, duckdb_value value)
{
	duckdb_prepared_statement prepared = NULL;
	duckdb_result result = { 0 };
	struct buf sql = { 0 };
	int err;

	buf__printf(&sql, "SET VARIABLE %s = $1", name);
	buf__u8(&sql, 0);
	err = buf__err(&sql) ? db_failed(db, NULL) : 0;
	if (!err &&
	    duckdb_prepare(db->connection, (const char *)sql.data, &prepared) != DuckDBSuccess)
		err = db_failed(db, duckdb_prepare_error(prepared));
	if (!err && (duckdb_bind_value(prepared, 1, value) != DuckDBSuccess ||
		     duckdb_execute_prepared(prepared, &result) != DuckDBSuccess))
		err = db_failed(db, duckdb_result_error(&result));
	duckdb_destroy_result(&result);
	duckdb_destroy_prepare(&prepared);
	duckdb_destroy_value(&value);
	buf__free(&sql);
	return err;
}

static int db__keep_or_run(struct db *db, const char *statement)
{
	int kept = definitions__keep(db->definitions, statement);

	if (kept < 0)
		return db_failed(db, NULL);
	return kept ? 0 : db__command(db, statement);
}

int db__script(struct db *db, const char *path)
{
	char *text = share__read(path);
	struct statements st = { 0 };
	int err = text ? statements__parse(&st, text) : -ENOENT;

	for (size_t i = 0; i < st.cnt && !err; i++)
		err = db__keep_or_run(db, st.sql[i]);
	statements__free(&st);
	free(text);
	return err;
}

int db__set_files(struct db *db, const struct recfiles *files)
{
	int err = 0;

	for (size_t i = 0; i < FILE_LIST_CNT && !err; i++)
		err = db__set_list(db, &file_lists[i], files);
	return err;
}

int db__set_unions(struct db *db)
{
	return db__set_variable(db, "unions_columns", duckdb_create_bool(!db->same_columns));
}

int db__connect_again(const struct db *db, struct db *out)
{
	int err;

	*out = *db;
	out->connection = NULL;
	if (duckdb_connect(db->database, &out->connection) != DuckDBSuccess)
		return -ENOMEM;
	err = db__set_files(out, db->files);
	if (!err)
		err = db__set_unions(out);
	return err || !db->select ? err : db->select(out, db->select_arg);
}

void db__close(struct db *db)
{
	duckdb_disconnect(&db->connection);
	duckdb_close(&db->database);
	definitions__free(db->definitions);
	db->definitions = NULL;
}

int db__bind(struct db *db, duckdb_prepared_statement prepared)
{
	for (size_t i = 0; i < PARAM_CNT; i++) {
		duckdb_state state;
		idx_t idx;

		if (duckdb_bind_parameter_index(prepared, &idx, param_names[i]) != DuckDBSuccess)
			continue; /* the query does not use it */
		state = db->values[i] ? duckdb_bind_varchar(prepared, idx, db->values[i])
				      : duckdb_bind_null(prepared, idx);
		if (state != DuckDBSuccess)
			return db_failed(db, duckdb_prepare_error(prepared));
	}
	return 0;
}

/* Prepares; if that fails, again with all views: the text may mention one in a way that is not
 * recognized, and DuckDB's message for a name that does not exist suggests similar ones. */
static duckdb_state db__try_prepare(struct db *db, const char *sql, duckdb_prepared_statement *out)
{
	duckdb_state state = duckdb_prepare(db->connection, sql, out);

	if (state == DuckDBSuccess || !definitions__has_more(db->definitions))
		return state;
	duckdb_destroy_prepare(out);
	db__define_all(db); /* logs what it cannot make */
	return duckdb_prepare(db->connection, sql, out);
}

int db__prepare(struct db *db, const char *sql, duckdb_prepared_statement *out)
{
	*out = NULL;
	if (db__define_for(db, sql) != 0)
		return -EINVAL;
	return db__try_prepare(db, sql, out) == DuckDBSuccess
		       ? db__bind(db, *out)
		       : db_failed(db, duckdb_prepare_error(*out));
}

/* Returns whether `sql` is a statement on its own: `events` is none, but FROM (events) is. */
static bool db__can_parse(struct db *db, const char *sql)
{
	duckdb_extracted_statements statements = NULL;
	bool can = duckdb_extract_statements(db->connection, sql, &statements) == 1;

	duckdb_destroy_extracted(&statements);
	return can;
}

/* Logs why FROM (sql) cannot be prepared. Returns -EINVAL. */
static int db__refuse_rows(struct db *db, const char *sql, const char *words)
{
	duckdb_prepared_statement alone = NULL;
	int err = db__prepare(db, sql, &alone);

	if (!err && duckdb_prepared_statement_type(alone) == DUCKDB_STATEMENT_TYPE_SELECT)
		db_failed(db, words);
	else if (!err)
		log__error("the last statement returns no rows; it must be a SELECT, FROM, WITH, "
			   "DESCRIBE or SUMMARIZE");
	duckdb_destroy_prepare(&alone);
	return -EINVAL;
}

int db__prepare_rows(struct db *db, const char *sql, duckdb_prepared_statement *out)
{
	struct buf from = { 0 };
	int err = db__define_for(db, sql);

	*out = NULL;
	buf__str(&from, "FROM (");
	buf__str(&from, sql);
	buf__append(&from, "\n)", sizeof("\n)"));
	if (!err && buf__err(&from))
		err = db_failed(db, NULL);
	if (!err && (!db__can_parse(db, sql) ||
		     db__try_prepare(db, (const char *)from.data, out) != DuckDBSuccess))
		err = db__refuse_rows(db, sql, duckdb_prepare_error(*out));
	buf__free(&from);
	return err ? err : db__bind(db, *out);
}

int db__divide_integers(struct db *db)
{
	return db__command(db, "SET integer_division = true");
}

/* Returns true if the files, and not the query, may be the reason. */
static bool db_is_of_files(duckdb_error_type type)
{
	static const duckdb_error_type types[] = {
		DUCKDB_ERROR_INVALID, DUCKDB_ERROR_UNKNOWN_TYPE,  DUCKDB_ERROR_SERIALIZATION,
		DUCKDB_ERROR_IO,      DUCKDB_ERROR_INVALID_INPUT, DUCKDB_ERROR_INTERNAL
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i] == type)
			return true;
	return false;
}

/* DuckDB's wait for its own threads spins, which took 45 % of the CPU time of `top` over 400 files.
 */
#define WAIT_NS 50000

duckdb_state db__finish_pending(duckdb_pending_result pending, duckdb_result *out)
{
	static const struct timespec wait = { .tv_nsec = WAIT_NS };
	duckdb_pending_state state = duckdb_pending_execute_task(pending);

	while (!duckdb_pending_execution_is_finished(state)) {
		if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE)
			nanosleep(&wait, NULL);
		state = duckdb_pending_execute_task(pending);
	}
	return duckdb_execute_pending(pending, out);
}

static duckdb_state db__start_and_finish(struct db *db, duckdb_prepared_statement prepared,
					 duckdb_result *out)
{
	duckdb_pending_result pending = NULL;
	duckdb_state state;

	*out = (duckdb_result){ 0 };
	progress__query(db->connection);
	if (duckdb_pending_prepared(prepared, &pending) == DuckDBSuccess)
		state = db__finish_pending(pending, out);
	else /* fails again, and sets the reason in *out */
		state = duckdb_execute_prepared(prepared, out);
	progress__query(NULL);
	duckdb_destroy_pending(&pending);
	return state;
}

int db__execute(struct db *db, duckdb_prepared_statement prepared, duckdb_result *out)
{
	int err;

	if (db__start_and_finish(db, prepared, out) == DuckDBSuccess)
		return 0;
	err = db_failed(db, duckdb_result_error(out));
	if (db->blame && db_is_of_files(duckdb_result_error_type(out)))
		db->blame(db, db->files);
	return err;
}

int db__run(struct db *db, const char *sql, duckdb_result *out)
{
	duckdb_prepared_statement prepared = NULL;
	int err = db__prepare(db, sql, &prepared);

	*out = (duckdb_result){ 0 };
	if (!err)
		err = db__execute(db, prepared, out);
	duckdb_destroy_prepare(&prepared);
	return err;
}

int db__run_but_last(struct db *db, const struct statements *st)
{
	int err = 0;

	for (size_t i = 0; i + 1 < st->cnt && !err; i++) {
		duckdb_result result;

		err = db__run(db, st->sql[i], &result);
		duckdb_destroy_result(&result);
	}
	return err;
}

int db__run_file(struct db *db, const char *path, duckdb_result *out)
{
	char *text = share__read(path);
	struct statements st = { 0 };
	int err = text ? statements__parse(&st, text) : -ENOENT;

	*out = (duckdb_result){ 0 };
	if (!err && st.cnt > 0)
		err = db__run_but_last(db, &st);
	if (!err && st.cnt > 0)
		err = db__run(db, st.sql[st.cnt - 1], out);
	statements__free(&st);
	free(text);
	return err;
}

int db__read_integers(struct db *db, const char *path, int64_t *const *fields, size_t cnt)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = db__run_file(db, path, &result);

	if (!err && !(chunk = duckdb_fetch_chunk(result)))
		err = db_failed(db, duckdb_result_error(&result));
	for (idx_t i = 0; chunk && i < cnt; i++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));

		*fields[i] = cells__int(&c, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err;
}
