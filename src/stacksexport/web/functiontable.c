// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers api/functions: the table of functions, with the sums of `stacksexport top`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/web/answers.h"
#include "stacksexport/web/flame.h"
#include "stacksexport/web/functionsums.h"
#include "stacksexport/web/jsonout.h"

#define ROWS_DEFAULT 200
#define ROWS_MAX     100000

static int functiontable_compare(int64_t a, int64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int functiontable_compare_self(const void *a, const void *b)
{
	const struct function_sums *x = a, *y = b;

	return x->self != y->self ? functiontable_compare(x->self, y->self)
				  : functiontable_compare(x->total, y->total);
}

static int functiontable_compare_total(const void *a, const void *b)
{
	const struct function_sums *x = a, *y = b;

	return x->total != y->total ? functiontable_compare(x->total, y->total)
				    : functiontable_compare(x->self, y->self);
}

static void functiontable_show_text(struct buf *out, const char *key, struct frame_text text)
{
	json_out__key(out, key);
	json_out__text(out, text.s, text.sz);
}

static void functiontable_row_show(const struct function_sums *row, const struct stackset *s,
				   struct buf *out)
{
	const struct function *f = stackset__function(s, row->function);

	json_out__open(out, '{');
	functiontable_show_text(out, "name", stackset__text(s, f->name));
	functiontable_show_text(out, "module", stackset__text(s, f->module));
	json_out__key_int(out, "self", row->self);
	json_out__key_int(out, "total", row->total);
	json_out__key_int(out, "samples", row->events);
	json_out__key_int(out, "kind", f->kind);
	json_out__close(out, '}');
}

static void functiontable_show(const struct function_table *t, const struct stackset *s,
			       size_t limit, struct buf *out)
{
	json_out__key_int(out, "total", t->total);
	json_out__key(out, "rows");
	json_out__open(out, '[');
	for (size_t i = 0; i < t->cnt && i < limit; i++)
		if (t->rows[i].self || t->rows[i].total)
			functiontable_row_show(&t->rows[i], s, out);
	json_out__close(out, ']');
}

/* The parameters of a request. */
struct functions_request {
	const struct metric *metric;
	struct calltree_options options;
	int64_t limit;
	bool by_total;
};

static int functions_read(struct web_request *r, struct functions_request *f, struct answer *a)
{
	const char *by = query_params__find(&r->params, "by");
	const char *sort = query_params__find(&r->params, "sort");

	*f = (struct functions_request){ .metric = metric__of(r, a), .limit = ROWS_DEFAULT };
	if (!f->metric)
		return -EINVAL;
	if (by)
		query_params__set(&r->params, "merge", by);
	if (sort && strcmp(sort, "self") != 0 && strcmp(sort, "total") != 0)
		return answer__fail(a, 400, "sort is self or total");
	f->by_total = sort && strcmp(sort, "total") == 0;
	if (query_params__int(&r->params, "limit", &f->limit) != 0 || f->limit < 1 ||
	    f->limit > ROWS_MAX)
		return answer__fail(a, 400, "limit is a number from 1 to %d", ROWS_MAX);
	query_params__set(&r->params, "root", ""); /* sums of functions are not grouped by root */
	return flame__options(r, &f->options, a);
}

/* Must hold the lock. */
static int functions_show(struct model *model, const struct functions_request *f,
			  struct metric_rows *rows, struct buf *out)
{
	struct metric_shape shape = { model, f->metric, model__tree(model, &f->options),
				      SHAPE_WAITING, false };
	struct function_table table = { 0 };
	struct metric_sums sums = { 0 };
	int err = shape.tree ? metric__sum(&shape, rows, &sums) : -ENOMEM;

	if (!err)
		err = function_table__make(&table, &shape, &sums);
	if (!err) {
		qsort(table.rows, table.cnt, sizeof(*table.rows),
		      f->by_total ? functiontable_compare_total : functiontable_compare_self);
		functiontable_show(&table, model->stacks, (size_t)f->limit, out);
	}
	function_table__free(&table);
	metric_sums__free(&sums);
	return err;
}

int functions__answer(struct web_request *r, struct answer *a)
{
	struct metric_rows rows = { 0 };
	struct functions_request f;
	int err = functions_read(r, &f, a);

	if (!err)
		err = metric__read(r, f.metric, &rows, a);
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		json_out__open(&a->json, '{');
		json_out__key_text(&a->json, "unit", f.metric->unit);
		pthread_mutex_lock(&r->view->model.lock);
		err = functions_show(&r->view->model, &f, &rows, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
		json_out__close(&a->json, '}');
	}
	metric_rows__free(&rows);
	return err;
}
