// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport query`: a query's result as a table, or in a format that DuckDB writes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/json.h"
#include "stacksexport/outfile.h"
#include "stacksexport/printer.h"
#include "stacksexport/progress.h"
#include "stacksexport/request.h"
#include "stacksexport/duck/share.h"

/* How a column is shown, by its type; the part before and after the column's name. */
struct shown {
	const char *before, *after;
};

static const struct shown as_is = { "", "" };
static const struct shown as_text = { "CAST(", " AS VARCHAR)" };
static const struct shown as_hex = { "lower(hex(", "))" };
static const struct shown as_names = {
	"array_to_string(list_transform(",
	", lambda f: coalesce(f.name, parse_filename(f.module), '?')), ' < ')"
};

static const struct query_format {
	const char *name;
	const char *copy;		 /* the options of COPY; NULL: printed here */
	bool hex;			 /* bytes as hexadecimal digits */
	bool text;			 /* everything as text, stacks as names only */
	bool binary;			 /* not for terminals */
	int (*finish)(const char *path); /* what COPY leaves to do; NULL: nothing */
} formats[] = {
	{ "table", NULL, true, true, false, NULL },
	{ "csv", "FORMAT csv, HEADER true", true, false, false, NULL },
	{ "json", "FORMAT json, ARRAY true", true, false, false, json__make_valid },
	{ "parquet", "FORMAT parquet, COMPRESSION zstd", false, false, true, NULL },
};

/* One call of the command. */
struct query {
	struct request request;
	const struct query_format *format;
	struct outfile out;
	duckdb_prepared_statement prepared; /* the last statement, to know its columns */
	struct buf sql;			    /* the same, as it is run */
	idx_t sorted_by;		    /* a column; the number of columns: none */
};

static const struct query_format *format__find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* LIST of STRUCT with a `name` and a `module`: a stack. */
static bool query_is_stack(duckdb_logical_type type)
{
	duckdb_logical_type element;
	unsigned found = 0;

	if (duckdb_get_type_id(type) != DUCKDB_TYPE_LIST)
		return false;
	element = duckdb_list_type_child_type(type);
	if (duckdb_get_type_id(element) == DUCKDB_TYPE_STRUCT)
		for (idx_t i = 0; i < duckdb_struct_type_child_count(element); i++) {
			char *name = duckdb_struct_type_child_name(element, i);

			found |= strcmp(name, "name") == 0     ? 1
				 : strcmp(name, "module") == 0 ? 2
							       : 0;
			duckdb_free(name);
		}
	duckdb_destroy_logical_type(&element);
	return found == 3;
}

static const struct shown *shown__of(const struct query *q, idx_t column)
{
	duckdb_logical_type type =
		duckdb_prepared_statement_column_logical_type(q->prepared, column);
	const struct shown *shown = q->format->text ? &as_text : &as_is;

	if (!type)
		return shown;
	if (q->format->hex && duckdb_get_type_id(type) == DUCKDB_TYPE_BLOB)
		shown = &as_hex;
	else if (q->format->text && query_is_stack(type))
		shown = &as_names;
	duckdb_destroy_logical_type(&type);
	return shown;
}

/* Finds the column of --sort. Returns STATUS_OK, or STATUS_USAGE after a message. */
static int query_find_order(struct query *q)
{
	const char *wanted = q->request.options->sort;
	idx_t cnt = duckdb_prepared_statement_column_count(q->prepared), i;
	struct buf names = { 0 };
	int status = STATUS_OK;

	for (i = 0; wanted && i < cnt; i++) {
		const char *name = duckdb_prepared_statement_column_name(q->prepared, i);
		bool found = strcmp(name, wanted) == 0;

		buf__printf(&names, "%s%s", i ? ", " : "", name);
		duckdb_free((void *)name);
		if (found)
			break;
	}
	buf__u8(&names, 0);
	q->sorted_by = wanted ? i : cnt;
	if (wanted && i == cnt)
		status = export_options__wrong(q->request.options,
					       "--sort '%s': the result has the columns %s", wanted,
					       buf__err(&names) ? "?" : (char *)names.data);
	buf__free(&names);
	return status;
}

/* Texts alphabetically, anything else with the largest first. */
static void query_wrap_order(struct query *q)
{
	bool is_text = duckdb_prepared_statement_column_type(q->prepared, q->sorted_by) ==
		       DUCKDB_TYPE_VARCHAR;

	buf__printf(&q->sql, " ORDER BY t.c%d %s NULLS LAST", (int)q->sorted_by,
		    is_text ? "ASC" : "DESC");
}

/* SELECT shown(c0) AS "name", … FROM (statement) t(c0, …): by position, as names may be the same.
 */
static void query_wrap(struct query *q, const char *statement)
{
	idx_t cnt = duckdb_prepared_statement_column_count(q->prepared);
	char column[32];

	buf__str(&q->sql, "SELECT ");
	for (idx_t i = 0; i < cnt; i++) {
		const char *name = duckdb_prepared_statement_column_name(q->prepared, i);
		const struct shown *shown = shown__of(q, i);

		snprintf(column, sizeof(column), "c%d", (int)i);
		buf__str(&q->sql, i ? ", " : "");
		buf__str(&q->sql, shown->before);
		buf__str(&q->sql, column);
		buf__str(&q->sql, shown->after);
		buf__str(&q->sql, " AS ");
		db__append_quoted(&q->sql, name, '"');
		duckdb_free((void *)name);
	}
	buf__str(&q->sql, " FROM (");
	buf__str(&q->sql, statement);
	buf__str(&q->sql, "\n) t(");
	for (idx_t i = 0; i < cnt; i++) {
		snprintf(column, sizeof(column), "%sc%d", i ? ", " : "", (int)i);
		buf__str(&q->sql, column);
	}
	buf__str(&q->sql, ")");
	if (q->sorted_by < cnt)
		query_wrap_order(q);
}

static void query_wrap_copy(struct query *q, const char *statement)
{
	buf__str(&q->sql, "COPY (");
	query_wrap(q, statement);
	buf__str(&q->sql, ") TO ");
	db__append_quoted(&q->sql, q->out.tmp, '\'');
	buf__str(&q->sql, " (");
	buf__str(&q->sql, q->format->copy);
	buf__str(&q->sql, ", USE_TMP_FILE false)");
}

/* COPY's result is the number of rows. */
static int64_t query_copied_rows(duckdb_result *result)
{
	duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
	int64_t cnt = 0;

	if (chunk && duckdb_data_chunk_get_size(chunk)) {
		struct cells cells = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		cnt = cells__int(&cells, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	return cnt;
}

static struct printer *query_make_printer(const struct query *q)
{
	idx_t cnt = duckdb_prepared_statement_column_count(q->prepared);
	bool *right = calloc(cnt ? cnt : 1, sizeof(*right));
	struct printer *p = NULL;

	for (idx_t i = 0; right && i < cnt; i++) {
		duckdb_type type = duckdb_prepared_statement_column_type(q->prepared, i);

		right[i] = cells__type_is_integer(type) || type == DUCKDB_TYPE_DOUBLE ||
			   type == DUCKDB_TYPE_FLOAT || type == DUCKDB_TYPE_DECIMAL;
	}
	if (right)
		p = printer__new(cnt, right);
	for (idx_t i = 0; p && i < cnt; i++) {
		const char *name = duckdb_prepared_statement_column_name(q->prepared, i);

		printer__cell(p, name, strlen(name));
		duckdb_free((void *)name);
	}
	free(right);
	return p;
}

static int64_t query_add_rows(struct printer *p, duckdb_result *result)
{
	idx_t columns = duckdb_column_count(result);
	duckdb_data_chunk chunk;
	int64_t cnt = 0;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		idx_t rows = duckdb_data_chunk_get_size(chunk);

		for (idx_t row = 0; row < rows; row++)
			for (idx_t i = 0; i < columns; i++) {
				struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));
				size_t sz;
				const char *s = cells__str(&c, row, &sz);

				printer__cell(p, s ? s : "", sz);
			}
		cnt += (int64_t)rows;
		duckdb_destroy_data_chunk(&chunk);
	}
	return cnt;
}

static int query_print_table(struct query *q, const struct printer *p)
{
	FILE *out = q->out.tmp ? fopen(q->out.tmp, "we") : stdout;
	int err = out ? printer__print(p, out, q->out.tmp ? 0 : terminal__width(STDOUT_FILENO))
		      : -errno;

	if (!err && (ferror(out) || fflush(out) != 0))
		err = errno ? -errno : -EIO;
	if (q->out.tmp && out && fclose(out) != 0 && !err)
		err = -errno;
	if (err)
		log__error("cannot write the table: %s", strerror(-err));
	return err;
}

/* Rows written, or -errno after reporting. */
static int64_t query_table(struct query *q, duckdb_result *result)
{
	struct printer *p = query_make_printer(q);
	int64_t cnt = p ? query_add_rows(p, result) : -ENOMEM;
	int err;

	progress__end();
	err = cnt > 0 ? query_print_table(q, p) : 0;

	if (!p)
		log__error("out of memory");
	printer__free(p);
	return err ? err : cnt;
}

static int query_run_wrapped(struct query *q, const char *statement)
{
	duckdb_result result = { 0 };
	int64_t cnt = -1, lost;
	int err;

	if (q->format->copy)
		query_wrap_copy(q, statement);
	else
		query_wrap(q, statement);
	buf__u8(&q->sql, 0);
	err = buf__err(&q->sql);
	if (!err)
		err = db__run(&q->request.db, (const char *)q->sql.data, &result);
	if (!err)
		cnt = q->format->copy ? query_copied_rows(&result) : query_table(q, &result);
	duckdb_destroy_result(&result);
	if (cnt == 0)
		return request__empty(&q->request);
	if (q->request.options->file)
		request__partly(&q->request);
	if (cnt > 0 && request__lost(&q->request, &lost) != 0)
		return STATUS_FAILED;
	if (cnt < 0 || (q->format->finish && q->format->finish(q->out.tmp) != 0))
		return STATUS_FAILED;
	return !q->out.tmp || outfile__commit(&q->out) == 0 ? STATUS_OK : STATUS_FAILED;
}

static int query_run_last(struct query *q, const char *statement)
{
	int status;

	if (db__prepare_rows(&q->request.db, statement, &q->prepared) != 0)
		return STATUS_FAILED;
	status = query_find_order(q);
	return status == STATUS_OK ? query_run_wrapped(q, statement) : status;
}

/* From now on SQL can neither write, nor read other files than those of the recording. */
static int query_restrict_to_reading(struct query *q, const struct statements *st)
{
	if (st->cnt != 1) {
		log__error("--read-only takes one statement, not %zu", st->cnt);
		return STATUS_FAILED;
	}
	return db__lock_down(&q->request.db, NULL) == 0 ? STATUS_OK : STATUS_FAILED;
}

static int query_run_text(struct query *q, const char *text)
{
	const struct export_options *o = q->request.options;
	struct statements st = { 0 };
	int status = request__parse(&q->request, o->file ? o->file : "the query", text, &st);

	if (status == STATUS_OK && o->read_only)
		status = query_restrict_to_reading(q, &st);
	if (status == STATUS_OK && db__run_but_last(&q->request.db, &st) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = query_run_last(q, st.sql[st.cnt - 1]);
	statements__free(&st);
	return status;
}

/* A table for the standard output is printed when all of it is there; everything else goes through
 * a file. */
static int query_open_output(struct query *q)
{
	const char *output = q->request.options->output;
	bool to_stdout = !output || strcmp(output, "-") == 0;

	if (to_stdout && q->format->binary && isatty(STDOUT_FILENO))
		return export_options__wrong(q->request.options,
					     "%s is not for a terminal: add --output FILE",
					     q->format->name);
	if (to_stdout && !q->format->copy)
		return STATUS_OK;
	return outfile__open(&q->out, to_stdout ? "-" : output, NULL) == 0 ? STATUS_OK
									   : STATUS_FAILED;
}

static int query_run(struct query *q, const struct export_options *o)
{
	char *text = o->file ? share__read_query(o->file, "sql/tables") : strdup(o->arguments[0]);
	int status = text ? request__open(&q->request, o) : STATUS_FAILED;

	if (status == STATUS_OK && grouping__use(&q->request.db, o->by) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = query_open_output(q);
	if (status == STATUS_OK)
		status = query_run_text(q, text);
	free(text);
	duckdb_destroy_prepare(&q->prepared);
	buf__free(&q->sql);
	outfile__free(&q->out);
	request__close(&q->request);
	return status;
}

int query__run(const struct export_options *o)
{
	struct query q = { .format = format__find(o->format ? o->format : "table") };

	if (!q.format)
		return export_options__wrong(
			o, "there is no format '%s': table, csv, json, parquet", o->format);
	if (o->read_only && (q.format->copy || o->output))
		return export_options__wrong(o, "--read-only prints a table and writes no file");
	if (!o->argument_cnt == !o->file)
		return export_options__wrong(o, "give a query, or -f and a file with one");
	q.request.options = o;
	return grouping__check(o) == STATUS_OK ? query_run(&q, o) : STATUS_USAGE;
}
