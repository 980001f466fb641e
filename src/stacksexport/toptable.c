// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/toptable.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/printer.h"

#define COLUMN_MAX 16

/* How nanoseconds are printed in a column, by the end of its name. */
static const struct top_unit {
	const char *end;
	double ns;
	int decimals;
	bool adds_up;
} units[] = {
	{ " s", 1e9, 3, true },
	{ " ms", 1e6, 2, false },
};

#define PRINTED_MIN 0.0005 /* seconds; less is printed as 0 */

/* One table: its columns, and what the rows that are not shown add up to. */
struct top_table {
	idx_t column_cnt;
	bool number[COLUMN_MAX], adds_up[COLUMN_MAX];
	const struct top_unit *unit[COLUMN_MAX]; /* NULL: a plain number */
	double sum[COLUMN_MAX], rest[COLUMN_MAX];
	size_t row_cnt, shown_cnt;
	struct printer *printer;
};

static bool toptable_ends_with(const char *s, const char *end)
{
	size_t sz = strlen(s), end_sz = strlen(end);

	return sz >= end_sz && strcmp(s + sz - end_sz, end) == 0;
}

static const struct top_unit *toptable_unit_of(const char *column)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (toptable_ends_with(column, units[i].end))
			return &units[i];
	return NULL;
}

static int table__init(struct top_table *t, const struct top_table_options *o,
		       duckdb_result *result)
{
	t->column_cnt = duckdb_column_count(result);
	if (t->column_cnt > COLUMN_MAX)
		return -E2BIG;
	for (idx_t i = 0; i < t->column_cnt; i++) {
		const char *name = duckdb_column_name(result, i);

		t->number[i] = duckdb_column_type(result, i) != DUCKDB_TYPE_VARCHAR;
		t->unit[i] = toptable_unit_of(name);
		t->adds_up[i] = t->number[i] && strncmp(name, "total", strlen("total")) != 0 &&
				(!t->unit[i] || t->unit[i]->adds_up);
	}
	t->printer = printer__new(t->column_cnt, t->number);
	if (!t->printer)
		return -ENOMEM;
	for (idx_t i = 0; i < t->column_cnt; i++) {
		const char *name = duckdb_column_name(result, i);

		name = strcmp(name, "group_name") == 0 ? o->by : name;
		printer__cell(t->printer, name, strlen(name));
	}
	return 0;
}

/* Seconds, percent or a plain number. */
static double toptable_number(const struct top_table *t, idx_t column, const struct cells *c,
			      idx_t row)
{
	if (cells__is_null(c, row))
		return 0;
	if (c->type == DUCKDB_TYPE_DOUBLE)
		return ((const double *)c->data)[row];
	return (double)cells__int(c, row) / (t->unit[column] ? t->unit[column]->ns : 1);
}

static int toptable_decimals(const struct top_table *t, idx_t column, duckdb_type type)
{
	return t->unit[column] ? t->unit[column]->decimals : type == DUCKDB_TYPE_DOUBLE ? 1 : 0;
}

/* Whether a time of the row is not 0 when it is printed; what is not shown is in the sums. */
static bool toptable_row_has_value(const struct top_table *t, duckdb_data_chunk chunk, idx_t row)
{
	bool found = false;

	for (idx_t i = 0; i < t->column_cnt && !found; i++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));

		found = t->unit[i] && t->unit[i]->adds_up &&
			toptable_number(t, i, &c, row) >= PRINTED_MIN;
	}
	return found;
}

static void table__row(struct top_table *t, duckdb_data_chunk chunk, idx_t row, bool show)
{
	for (idx_t i = 0; i < t->column_cnt; i++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));
		double n = t->number[i] ? toptable_number(t, i, &c, row) : 0;
		const char *s;
		size_t sz;

		t->sum[i] += n;
		t->rest[i] += show ? 0 : n;
		if (show && t->number[i])
			printer__cellf(t->printer, "%.*f", toptable_decimals(t, i, c.type), n);
		if (!show || t->number[i])
			continue;
		s = cells__str(&c, row, &sz);
		printer__cell(t->printer, s ? s : "", sz);
	}
	t->row_cnt++;
	t->shown_cnt += show;
}

/* What adds up, with a word in the last column. */
static void table__sums(struct top_table *t, duckdb_result *result, const double *sums,
			const char *word)
{
	for (idx_t i = 0; i < t->column_cnt; i++) {
		if (t->adds_up[i])
			printer__cellf(t->printer, "%.*f",
				       toptable_decimals(t, i, duckdb_column_type(result, i)),
				       sums[i]);
		else
			printer__cellf(t->printer, "%s", i + 1 == t->column_cnt ? word : "");
	}
}

static void table__rows(struct top_table *t, duckdb_result *result, size_t row_max)
{
	duckdb_data_chunk chunk;
	char word[64];

	while ((chunk = duckdb_fetch_chunk(*result))) {
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			table__row(t, chunk, row,
				   t->shown_cnt < row_max && toptable_row_has_value(t, chunk, row));
		duckdb_destroy_data_chunk(&chunk);
	}
	if (t->row_cnt > t->shown_cnt) {
		snprintf(word, sizeof(word), "(%zu more)", t->row_cnt - t->shown_cnt);
		table__sums(t, result, t->rest, word);
	}
	table__sums(t, result, t->sum, "(all)");
}

int top_table__print(struct db *db, const char *path, const struct top_table_options *o)
{
	struct top_table t = { 0 };
	duckdb_result result;
	int err = db__run_file(db, path, &result);

	if (!err && duckdb_row_count(&result) > 0) {
		err = table__init(&t, o, &result);
		if (!err) {
			table__rows(&t, &result, o->row_max);
			if (o->title)
				fprintf(o->out, "\n%s\n", o->title);
			err = printer__print(t.printer, o->out, o->width);
		}
		if (err)
			log__error("cannot print %s: %s", path, strerror(-err));
	}
	printer__free(t.printer);
	duckdb_destroy_result(&result);
	return err;
}
