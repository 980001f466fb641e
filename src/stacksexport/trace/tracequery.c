// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/tracequery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/buf.h"
#include "stacksexport/duck/frames.h"
#include "stacksexport/duck/share.h"

enum column_class { CLASS_TEXT, CLASS_INTEGER, CLASS_TIME, CLASS_STACK, CLASS_CNT };

static const struct {
	const char *needed; /* the expected type, for messages */
	const char *none;   /* SQL for its value if the query does not have the column */
} classes[CLASS_CNT] = {
	[CLASS_TEXT] = { "text", "NULL::VARCHAR" },
	[CLASS_INTEGER] = { "an integer", "NULL::HUGEINT" },
	[CLASS_TIME] = { "a number of microseconds", "NULL::HUGEINT" },
	[CLASS_STACK] = { "a stack: a list of frames (name, address, offset …) or of stack ids",
			  "NULL::UBIGINT[]" },
};

/* The columns with a meaning; all others become arguments of the event. */
static const struct trace_column {
	const char *name;
	enum column_class class;
	bool required;
} columns[] = {
	{ "event", CLASS_TEXT, true },	     { "name", CLASS_TEXT, true },
	{ "pid", CLASS_INTEGER, true },	     { "start", CLASS_TIME, false },
	{ "timestamp", CLASS_TIME, false },  { "duration", CLASS_TIME, false },
	{ "tid", CLASS_INTEGER, false },     { "kind", CLASS_TEXT, false },
	{ "cpu", CLASS_INTEGER, false },     { "amount", CLASS_INTEGER, false },
	{ "rate", CLASS_INTEGER, false },    { "stack", CLASS_STACK, false },
	{ "end_stack", CLASS_STACK, false },
};

#define COLUMN_CNT (sizeof(columns) / sizeof(columns[0]))

/* The form in which a column of the query has its value. */
enum form { FORM_NONE, FORM_TEXT, FORM_INTEGER, FORM_DECIMAL, FORM_FRAMES, FORM_IDS };

/* SQL before and after the column's name, for each form; times become nanoseconds. */
static const struct {
	const char *before, *after;
} expressions[][CLASS_CNT] = {
	[FORM_TEXT][CLASS_TEXT] = { "", "" },
	[FORM_INTEGER][CLASS_TEXT] = { "", "::VARCHAR" },
	[FORM_DECIMAL][CLASS_TEXT] = { "", "::VARCHAR" },
	[FORM_INTEGER][CLASS_INTEGER] = { "TRY_CAST(", " AS HUGEINT)" },
	[FORM_INTEGER][CLASS_TIME] = { "1000 * TRY_CAST(", " AS HUGEINT)" },
	[FORM_DECIMAL][CLASS_TIME] = { "TRY_CAST(round(1000 * ", ") AS HUGEINT)" },
	[FORM_FRAMES][CLASS_STACK] = { "", "" },
	[FORM_IDS][CLASS_STACK] = { "", "" },
};

/* Selects the distinct stacks of a column of trace_input, with the keys that sql/trace/rows.sql
 * gives them, in a reproducible order. */
#define STACKS_OF_FRAMES                                       \
	"SELECT hash(%1$s), any_value(%1$s) FROM trace_input " \
	"WHERE len(%1$s) > 0 GROUP BY 1 ORDER BY 1"
#define STACKS_OF_IDS                                                                    \
	"WITH ids AS (SELECT DISTINCT %1$s AS s FROM trace_input WHERE len(%1$s) > 0), " \
	"parts AS (SELECT s, unnest(s) AS id, generate_subscripts(s, 1) AS i FROM ids) " \
	"SELECT hash(s), flatten(list(frames ORDER BY i)) FROM parts "                   \
	"JOIN stacktraces ON stack_id = id GROUP BY s ORDER BY 1"

/* One call. */
struct tracequery_work {
	struct tracequery *query;
	struct request *request;
	const struct stack_sink *sink;
	int number;
	duckdb_prepared_statement prepared; /* to know the columns */
	struct found {
		enum form form;
		int at; /* index of the query's column; -1: none */
	} found[COLUMN_CNT];
	struct buf sql;
};

static enum form form_of_list(duckdb_logical_type type)
{
	return frames__is_stack(type)				   ? FORM_FRAMES
	       : cells__type_is_integer(cells__element_type(type)) ? FORM_IDS
								   : FORM_NONE;
}

static enum form form_of(duckdb_prepared_statement prepared, idx_t column)
{
	duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(prepared, column);
	duckdb_type id = duckdb_get_type_id(type);
	enum form form = FORM_NONE;

	if (id == DUCKDB_TYPE_VARCHAR)
		form = FORM_TEXT;
	else if (cells__type_is_integer(id))
		form = FORM_INTEGER;
	else if (id == DUCKDB_TYPE_DECIMAL || id == DUCKDB_TYPE_DOUBLE || id == DUCKDB_TYPE_FLOAT)
		form = FORM_DECIMAL;
	else if (id == DUCKDB_TYPE_LIST)
		form = form_of_list(type);
	duckdb_destroy_logical_type(&type);
	return form;
}

static const struct trace_column *column__find(const char *name)
{
	for (size_t i = 0; i < COLUMN_CNT; i++)
		if (strcasecmp(columns[i].name, name) == 0)
			return &columns[i];
	return NULL;
}

static int tracequery_wrong(const struct tracequery_work *w, const char *column, const char *what)
{
	log__error("%s: column %s %s; a trace needs event ('complete', 'counter' or 'instant'), "
		   "name, pid and times in microseconds: start, timestamp, duration (see: man "
		   "stacksexport)",
		   w->query->path, column, what);
	return STATUS_FAILED;
}

static int tracequery_note_column(struct tracequery_work *w, const struct trace_column *c, idx_t at)
{
	enum form form = form_of(w->prepared, at);
	char what[128];

	if (!expressions[form][c->class].before) {
		snprintf(what, sizeof(what), "has to be %s", classes[c->class].needed);
		return tracequery_wrong(w, c->name, what);
	}
	w->found[c - columns] = (struct found){ form, (int)at };
	return STATUS_OK;
}

static int tracequery_note_arg(struct tracequery_work *w, const char *name)
{
	struct tracequery *q = w->query;
	char **args = reallocarray(q->args, q->arg_cnt + 1, sizeof(*args));
	char *copy = strdup(name);

	if (args)
		q->args = args;
	if (!args || !copy) {
		free(copy);
		log__error("out of memory");
		return STATUS_FAILED;
	}
	args[q->arg_cnt++] = copy;
	return STATUS_OK;
}

/* Finds the meaning of each of the query's columns. */
static int tracequery_note_columns(struct tracequery_work *w)
{
	idx_t cnt = duckdb_prepared_statement_column_count(w->prepared);
	int status = STATUS_OK;

	for (size_t i = 0; i < COLUMN_CNT; i++)
		w->found[i].at = -1;
	for (idx_t at = 0; at < cnt && status == STATUS_OK; at++) {
		const char *name = duckdb_prepared_statement_column_name(w->prepared, at);
		const struct trace_column *c = column__find(name);

		status = c ? tracequery_note_column(w, c, at) : tracequery_note_arg(w, name);
		duckdb_free((void *)name);
	}
	for (size_t i = 0; i < COLUMN_CNT && status == STATUS_OK; i++)
		if (columns[i].required && w->found[i].at < 0)
			status = tracequery_wrong(w, columns[i].name, "is missing");
	return status;
}

static bool tracequery_is_known(const struct tracequery_work *w, int column)
{
	for (size_t i = 0; i < COLUMN_CNT; i++)
		if (w->found[i].at == column)
			return true;
	return false;
}

/* Appends [c7::VARCHAR, …]: the values of the columns that tracequery_note_arg() took, in order. */
static void tracequery_append_args(struct tracequery_work *w, int cnt)
{
	bool first = true;

	buf__str(&w->sql, "[");
	for (int i = 0; i < cnt; i++) {
		if (tracequery_is_known(w, i))
			continue;
		buf__printf(&w->sql, "%sc%d::VARCHAR", first ? "" : ", ", i);
		first = false;
	}
	buf__str(&w->sql, "]::VARCHAR[] AS args");
}

/* Makes the table that sql/trace/rows.sql reads. It names the query's columns by position, so that
 * they may have any name. */
static void tracequery_append_input(struct tracequery_work *w, const char *statement)
{
	int cnt = (int)duckdb_prepared_statement_column_count(w->prepared);

	buf__printf(&w->sql, "CREATE OR REPLACE TEMP TABLE trace_input AS SELECT %d AS query, ",
		    w->number);
	for (size_t i = 0; i < COLUMN_CNT; i++) {
		const struct found *f = &w->found[i];
		enum column_class class = columns[i].class;

		if (f->at < 0)
			buf__str(&w->sql, classes[class].none);
		else
			buf__printf(&w->sql, "%sc%d%s", expressions[f->form][class].before, f->at,
				    expressions[f->form][class].after);
		buf__printf(&w->sql, " AS %s, ", columns[i].name);
	}
	tracequery_append_args(w, cnt);
	buf__printf(&w->sql, " FROM (%s\n) t(", statement);
	for (int i = 0; i < cnt; i++)
		buf__printf(&w->sql, "%sc%d", i ? ", " : "", i);
	buf__append(&w->sql, ")", sizeof(")"));
}

static int tracequery_run_sql(struct tracequery_work *w, const char *sql)
{
	duckdb_result result;
	int err = db__run(&w->request->db, sql, &result);

	duckdb_destroy_result(&result);
	return err ? STATUS_FAILED : STATUS_OK;
}

static void tracequery_read_stacks(struct tracequery_work *w, duckdb_result *result)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		const uint64_t *keys =
			duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
		struct frames frames = frames__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
			if (w->sink->has(w->sink->arg, keys[row]))
				continue;
			frames__each(&frames, row, w->sink->frame, w->sink->arg);
			w->sink->stack(w->sink->arg, keys[row]);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
}

static int tracequery_add_stacks(struct tracequery_work *w, const struct trace_column *c)
{
	enum form form = w->found[c - columns].form;
	duckdb_result result;
	char sql[512];
	int err;

	if (form == FORM_IDS)
		snprintf(sql, sizeof(sql), STACKS_OF_IDS, c->name);
	else
		snprintf(sql, sizeof(sql), STACKS_OF_FRAMES, c->name);
	err = db__run(&w->request->db, sql, &result);
	if (!err)
		tracequery_read_stacks(w, &result);
	duckdb_destroy_result(&result);
	return err ? STATUS_FAILED : STATUS_OK;
}

static int tracequery_run_last(struct tracequery_work *w, const char *statement)
{
	int status = db__prepare_rows(&w->request->db, statement, &w->prepared) == 0
			     ? tracequery_note_columns(w)
			     : STATUS_FAILED;

	if (status == STATUS_OK) {
		tracequery_append_input(w, statement);
		status = buf__err(&w->sql) ? STATUS_FAILED
					   : tracequery_run_sql(w, (const char *)w->sql.data);
	}
	for (size_t i = 0; i < COLUMN_CNT && status == STATUS_OK; i++)
		if (columns[i].class == CLASS_STACK && w->found[i].at >= 0)
			status = tracequery_add_stacks(w, &columns[i]);
	if (status == STATUS_OK && db__script(&w->request->db, "sql/trace/rows.sql") != 0)
		status = STATUS_FAILED;
	duckdb_destroy_prepare(&w->prepared);
	buf__free(&w->sql);
	return status;
}

/* /some/usdt_all.sql → usdt_all */
static char *tracequery_stem(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? strndup(name, (size_t)(dot - name)) : strdup(name);
}

int tracequery__run(struct tracequery *q, struct request *r, int number,
		    const struct stack_sink *sink)
{
	struct tracequery_work w = { .query = q, .request = r, .sink = sink, .number = number };
	char *text =
		q->shipped ? share__read(q->path) : share__read_query(q->path, "sql/traceview");
	struct statements st = { 0 };
	int status = STATUS_FAILED;

	q->name = tracequery_stem(q->path);
	if (text && q->name)
		status = request__parse(r, q->path, text, &st);
	if (status == STATUS_OK && db__run_but_last(&r->db, &st) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = tracequery_run_last(&w, st.sql[st.cnt - 1]);
	statements__free(&st);
	free(text);
	return status;
}

void tracequery__free(struct tracequery *q)
{
	for (size_t i = 0; i < q->arg_cnt; i++)
		free(q->args[i]);
	free(q->args);
	free(q->name);
	*q = (struct tracequery){ 0 };
}
