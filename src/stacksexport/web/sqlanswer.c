// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers requests that run SQL: the shipped queries, and api/sql, which can only read. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/sqlcolumns.h"
#include "stacksexport/web/sqlwords.h"

#define ROWS_MAX     10000
#define SQL_LIMIT_NS 30000000000ull
#define CELLS_MAX    (16u << 20) /* bytes of JSON; longer results are cut */

/* ---- the shipped queries -------------------------------------------------------------------- */

/* The page lists the queries in these folders. */
static const char *const folders[] = { "tables", "pprof", "traceview" };

/* Appends the first lines of a query, without their dashes. */
static void sqlanswer_show_head(const char *sql, struct buf *out)
{
	struct buf head = { 0 };

	while (strncmp(sql, "--", 2) == 0) {
		size_t sz = strcspn(sql, "\n"), skip = sql[2] == ' ' ? 3 : 2;

		if (head.sz)
			buf__u8(&head, '\n');
		buf__append(&head, sql + skip, sz - skip);
		sql += sz + (sql[sz] == '\n');
	}
	json_out__key(out, "head");
	json_out__text(out, head.sz ? (const char *)head.data : "", head.sz);
	buf__free(&head);
}

static void sqlanswer_show_parameters(const char *sql, struct buf *out)
{
	json_out__key(out, "parameters");
	json_out__open(out, '[');
	for (size_t i = 0; i < PARAM_CNT; i++) {
		char text[32];

		snprintf(text, sizeof(text), "?%s", param_names[i]);
		if (strstr(sql, text))
			json_out__text(out, param_names[i], strlen(param_names[i]));
	}
	json_out__close(out, ']');
}

static void sqlanswer_show_query(const char *folder, const char *file, struct buf *out)
{
	char path[NAME_MAX + 64], name[NAME_MAX + 64];
	char *sql;

	snprintf(path, sizeof(path), "sql/%s/%s", folder, file);
	snprintf(name, sizeof(name), "%s/%.*s", folder, (int)(strlen(file) - strlen(".sql")), file);
	sql = share__read(path);
	if (!sql)
		return;
	json_out__open(out, '{');
	json_out__key_text(out, "name", name);
	sqlanswer_show_head(sql, out);
	sqlanswer_show_parameters(sql, out);
	json_out__close(out, '}');
	free(sql);
}

static int sqlanswer_is_query(const struct dirent *entry)
{
	size_t sz = strlen(entry->d_name);

	return entry->d_name[0] != '.' && sz > 4 && strcmp(entry->d_name + sz - 4, ".sql") == 0;
}

static void sqlanswer_show_folder(const char *folder, struct buf *out)
{
	char relative[64], path[PATH_MAX];
	struct dirent **entries;
	int cnt = -1;

	snprintf(relative, sizeof(relative), "sql/%s", folder);
	if (share__path(relative, path, sizeof(path)) == 0)
		cnt = scandir(path, &entries, sqlanswer_is_query, alphasort);
	for (int i = 0; i < cnt; i++) {
		sqlanswer_show_query(folder, entries[i]->d_name, out);
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
}

int queries__answer(struct web_request *r, struct answer *a)
{
	(void)r;
	json_out__open(&a->json, '{');
	json_out__key(&a->json, "queries");
	json_out__open(&a->json, '[');
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		sqlanswer_show_folder(folders[i], &a->json);
	json_out__close(&a->json, ']');
	json_out__close(&a->json, '}');
	return 0;
}

/* Accepts paths such as "tables/why_off_cpu" only. */
static bool sqlanswer_is_query_name(const char *name)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t sz = strlen(folders[i]);

		if (strncmp(name, folders[i], sz) == 0 && name[sz] == '/' && name[sz + 1] &&
		    strspn(name + sz + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
			    strlen(name + sz + 1))
			return true;
	}
	return false;
}

int query__answer(struct web_request *r, struct answer *a)
{
	const char *name = query_params__find(&r->params, "name");
	char path[256];
	char *sql = NULL;

	if (name && sqlanswer_is_query_name(name) &&
	    snprintf(path, sizeof(path), "sql/%s.sql", name) < 200)
		sql = share__read(path);
	if (!sql)
		return answer__fail(a, 404, "there is no such query");
	json_out__open(&a->json, '{');
	json_out__key_text(&a->json, "sql", sql);
	sqlanswer_show_head(sql, &a->json);
	json_out__close(&a->json, '}');
	free(sql);
	return 0;
}

/* ---- api/sql -------------------------------------------------------------------------------- */

/* The fields of the body. */
struct sql_request {
	char *sql, *command, *build_id;
	int64_t limit;
};

static void sql_request_free(struct sql_request *q)
{
	free(q->sql);
	free(q->command);
	free(q->build_id);
}

static char *sqlanswer_text_at(duckdb_data_chunk chunk, idx_t column)
{
	struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, column));
	size_t sz;
	const char *s = cells__str(&c, 0, &sz);

	return s ? strndup(s, sz) : NULL;
}

static int64_t sqlanswer_limit_at(duckdb_data_chunk chunk, idx_t column)
{
	struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, column));
	int64_t limit = cells__is_null(&c, 0) ? ROWS_MAX : cells__int(&c, 0);

	return limit < 1 ? 1 : limit > ROWS_MAX ? ROWS_MAX : limit;
}

static int sql_request_read(struct web_request *r, struct sql_request *q, struct answer *a)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err;

	*q = (struct sql_request){ 0 };
	query_params__set(&r->params, "body", r->body);
	err = view__query(r, "sql/view/body.sql", &result, a);
	if (!err)
		chunk = duckdb_fetch_chunk(result);
	if (chunk) {
		q->sql = sqlanswer_text_at(chunk, 0);
		q->command = sqlanswer_text_at(chunk, 1);
		q->build_id = sqlanswer_text_at(chunk, 2);
		q->limit = sqlanswer_limit_at(chunk, 3);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err || !q->sql ? answer__fail(a, 400, "the body is not JSON with a text `sql`") : 0;
}

static int sql_failed(struct answer *a, const char *words)
{
	if (db__is_interrupt(words))
		return answer__fail(
			a, 400, "the query was stopped: it was cancelled, or took more than 30 s");
	return answer__fail(a, 400, "%s", words ? words : "out of memory");
}

static int sql_prepare(struct db *db, const char *sql, duckdb_prepared_statement *out,
		       struct answer *a)
{
	if (duckdb_prepare(db->connection, sql, out) != DuckDBSuccess)
		return sql_failed(a, duckdb_prepare_error(*out));
	return db__bind(db, *out) == 0 ? 0 : sql_failed(a, "the parameters cannot be bound");
}

/* Runs all statements except the last, which gives the rows. */
static int sql_run_first(struct db *db, const struct statements *st, struct answer *a)
{
	int err = 0;

	for (size_t i = 0; i + 1 < st->cnt && !err; i++) {
		duckdb_prepared_statement prepared = NULL;
		duckdb_result result = { 0 };

		if (!sql_words__are_temporary(st->sql[i]))
			err = answer__fail(a, 400,
					   "only reading is allowed: SELECT, and before it CREATE "
					   "TEMP TABLE and SET VARIABLE");
		if (!err)
			err = sql_prepare(db, st->sql[i], &prepared, a);
		if (!err && duckdb_execute_prepared(prepared, &result) != DuckDBSuccess)
			err = sql_failed(a, duckdb_result_error(&result));
		duckdb_destroy_result(&result);
		duckdb_destroy_prepare(&prepared);
	}
	return err;
}

static int sql_show_rows(struct web_request *r, duckdb_result *result, int64_t limit,
			 struct answer *a)
{
	struct buf *out = &a->json;
	duckdb_data_chunk chunk;
	int64_t cnt = 0;
	bool cut = false;

	json_out__key(out, "rows");
	json_out__open(out, '[');
	while (!cut && (chunk = duckdb_fetch_chunk(*result))) {
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !cut; row++) {
			cut = cnt++ == limit || out->sz > CELLS_MAX;
			if (!cut)
				sql_columns__row(&r->view->model, chunk, row, out);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	json_out__close(out, ']');
	json_out__key(out, "truncated");
	json_out__bool(out, cut);
	return !cut && duckdb_result_error(result) ? sql_failed(a, duckdb_result_error(result)) : 0;
}

static int sql_run_last(struct web_request *r, struct db *db, const char *sql, int64_t limit,
			struct answer *a)
{
	duckdb_prepared_statement asked = NULL, shown = NULL;
	struct buf wrapped = { 0 };
	duckdb_result result = { 0 };
	int err = sql_prepare(db, sql, &asked, a);

	if (!err && duckdb_prepared_statement_type(asked) != DUCKDB_STATEMENT_TYPE_SELECT)
		err = answer__fail(a, 400, "the last statement has to be a SELECT");
	if (!err && sql_columns__wrap(asked, sql, &wrapped) != 0)
		err = -ENOMEM;
	if (!err)
		err = sql_prepare(db, (const char *)wrapped.data, &shown, a);
	if (!err && duckdb_execute_prepared_streaming(shown, &result) != DuckDBSuccess)
		err = sql_failed(a, duckdb_result_error(&result));
	if (!err) {
		sql_columns__show(asked, &a->json);
		err = sql_show_rows(r, &result, limit, a);
	}
	duckdb_destroy_result(&result);
	duckdb_destroy_prepare(&shown);
	duckdb_destroy_prepare(&asked);
	buf__free(&wrapped);
	return err;
}

/* Uses a separate connection, so that temporary tables end with it. */
static int sql_run(struct web_request *r, const struct sql_request *q, const struct statements *st,
		   struct answer *a)
{
	struct running_task task = { .what = "SQL", .limit_ns = SQL_LIMIT_NS, .can_cancel = true };
	struct db db = { 0 };
	int err = source__connect(r->source, &db);

	if (err)
		return err;
	db.values[PARAM_COMMAND] = q->command;
	db.values[PARAM_BUILDID] = q->build_id;
	task.connection = db.connection;
	running__begin(&r->view->running, &task);
	err = sql_run_first(&db, st, a);
	if (!err)
		err = sql_run_last(r, &db, st->sql[st->cnt - 1], q->limit, a);
	running__end(&r->view->running, &task);
	duckdb_disconnect(&db.connection);
	return err;
}

int sql__answer(struct web_request *r, struct answer *a)
{
	uint64_t begin_ns = monotonic__ns();
	struct statements st = { 0 };
	struct sql_request q;
	int err = sql_request_read(r, &q, a);

	if (!err && (statements__parse(&st, q.sql) != 0 || !st.cnt))
		err = answer__fail(a, 400,
				   "there is no query, or a quote or a comment does not end");
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		json_out__open(&a->json, '{');
		err = sql_run(r, &q, &st, a);
		json_out__key_int(&a->json, "ms",
				  (int64_t)((monotonic__ns() - begin_ns) / 1000000));
		json_out__close(&a->json, '}');
	}
	statements__free(&st);
	sql_request_free(&q);
	return err;
}
