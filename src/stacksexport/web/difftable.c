// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/difftable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_DEFAULT 10
#define COLUMN_CNT   7 /* without the labels */

static const struct diff_unit diff_units[] = {
	{ "ns", "s", 1e9, 3 },
	{ "bytes", "MB", 1e6, 3 },
	{ "count", "", 1, 0 },
};

const struct diff_unit *diff_unit__of(const struct metric *m)
{
	const struct diff_unit *u = diff_units;

	while (strcmp(u->unit, m->unit) != 0)
		u++;
	return u;
}

/* ---- order ---------------------------------------------------------------------------------- */

static double difftable_by_change(const struct diff_change *c)
{
	return fabs(c->b - c->a);
}

static double difftable_by_a(const struct diff_change *c)
{
	return c->a;
}

static double difftable_by_b(const struct diff_change *c)
{
	return c->b;
}

static double difftable_by_p(const struct diff_change *c)
{
	return -c->p;
}

/* What --sort takes; the largest is the first. */
static const struct diff_order {
	const char *name;
	double (*of)(const struct diff_change *);
} diff_orders[] = { { "change", difftable_by_change },
		    { "a", difftable_by_a },
		    { "b", difftable_by_b },
		    { "p", difftable_by_p } };

static const struct diff_order *difftable_order_find(const char *name)
{
	for (size_t i = 0; i < sizeof(diff_orders) / sizeof(*diff_orders); i++)
		if (!name || strcmp(diff_orders[i].name, name) == 0)
			return &diff_orders[i];
	return NULL;
}

int diff_table__check_order(const struct export_options *o)
{
	return difftable_order_find(o->sort)
		       ? STATUS_OK
		       : export_options__wrong(o, "--sort '%s': expected change, a, b or p",
					       o->sort);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The place of a row and how much it changed, to be sorted. */
struct diff_row {
	size_t index;
	double order;
	struct diff_change change;
};

static int difftable_compare_rows(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double p = difftable_by_change(&x->change), q = difftable_by_change(&y->change);

	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return p < q ? 1 : p > q ? -1 : x->index < y->index ? -1 : x->index > y->index;
}

/* Returns the rows to show, sorted; NULL if out of memory. */
static struct diff_row *difftable_choose_rows(const struct diff_table *t,
					      const struct export_options *o, size_t *cnt)
{
	const struct diff_order *order = difftable_order_find(o->sort);
	size_t all = t->series->series.cnt;
	struct diff_row *rows = calloc(all + 1, sizeof(*rows));

	*cnt = 0;
	for (size_t i = 0; rows && i < all; i++) {
		struct diff_row row = { i, 0, diff_series__change(t->series, i) };

		row.order = order->of(&row.change);
		if (row.change.significant || (o->all && (row.change.a != 0 || row.change.b != 0)))
			rows[(*cnt)++] = row;
	}
	if (rows)
		qsort(rows, *cnt, sizeof(*rows), difftable_compare_rows);
	return rows;
}

/* ---- printing ------------------------------------------------------------------------------- */

static void difftable_print_heading(struct printer *p, const struct diff_table *t)
{
	const char *space = *t->field ? " " : "", *unit = t->unit->name;

	printer__cellf(p, "A%s%s%s%s", space, t->field, *unit ? " " : "", unit);
	printer__cellf(p, "B%s%s%s%s", space, t->field, *unit ? " " : "", unit);
	printer__cellf(p, "change%s%s", *unit ? " " : "", unit);
	printer__cellf(p, "change %%");
	printer__cellf(p, "low %%");
	printer__cellf(p, "high %%");
	printer__cellf(p, "p");
	for (size_t i = 0; i < DIFF_LABEL_MAX && t->labels[i]; i++)
		printer__cellf(p, "%s", t->labels[i]);
}

/* A percentage of all of A, which may be nothing. */
static void difftable_print_percent(struct printer *p, double value, double all)
{
	if (all != 0)
		printer__cellf(p, "%+.2f", 100 * value / fabs(all));
	else
		printer__cellf(p, "-");
}

static void difftable_print_row(struct printer *p, const struct diff_table *t,
				const struct diff_row *row)
{
	const struct diff_change *c = &row->change;
	const struct diff_unit *u = t->unit;

	printer__cellf(p, "%.*f", u->decimals, c->a / u->divisor);
	printer__cellf(p, "%.*f", u->decimals, c->b / u->divisor);
	printer__cellf(p, "%+.*f", u->decimals, (c->b - c->a) / u->divisor);
	difftable_print_percent(p, c->b - c->a, t->all);
	difftable_print_percent(p, c->lo, t->all);
	difftable_print_percent(p, c->hi, t->all);
	printer__cellf(p, c->p < 0.001 ? "<0.001" : "%.3f", c->p);
	t->print_labels(t->arg, p, row->index);
}

static int difftable_print_rows(const struct diff_table *t, const struct export_options *o,
				const struct diff_row *rows, size_t cnt)
{
	static const bool right[COLUMN_CNT + DIFF_LABEL_MAX] = { true, true, true, true,
								 true, true, true };
	size_t max = o->rows ? o->rows : ROWS_DEFAULT;
	struct printer *p = printer__new(COLUMN_CNT + (t->labels[1] ? 2 : 1), right);
	int err = p ? 0 : -ENOMEM;

	if (p) {
		difftable_print_heading(p, t);
		for (size_t i = 0; i < cnt && i < max; i++)
			difftable_print_row(p, t, &rows[i]);
		err = printer__print(p, stdout, terminal__width(STDOUT_FILENO));
	}
	printer__free(p);
	if (!err && cnt > max)
		printf("(%zu more)\n", cnt - max);
	return err;
}

int diff_table__print(const struct diff_table *t, const struct export_options *o)
{
	size_t cnt;
	struct diff_row *rows = difftable_choose_rows(t, o, &cnt);
	int err = rows ? 0 : -ENOMEM;

	printf("\n%s%s\n", t->title, o->all ? "" : ", SIGNIFICANT CHANGES");
	if (rows && cnt)
		err = difftable_print_rows(t, o, rows, cnt);
	else if (rows)
		puts(o->all ? "none" : "none (--all shows the others)");
	free(rows);
	return err;
}
