// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"

static const struct {
	const char *from, *to;
} side_params[SIDE_CNT] = { { "afrom", "ato" }, { "bfrom", "bto" } };

static int side_select(struct side *s, const struct web_request *r, enum diff_side side,
		       struct answer *a)
{
	const char *from = query_params__find(&r->params, side_params[side].from);
	const char *to = query_params__find(&r->params, side_params[side].to);
	int err;

	s->request = *r;
	if (side == SIDE_B && query_params__find(&r->params, "other")) {
		if (r->view->source_cnt < 2)
			return answer__fail(a, 400, "there is no other recording");
		s->request.source = &r->view->sources[1];
	}
	query_params__set(&s->request.params, "from", from ? from : "");
	query_params__set(&s->request.params, "to", to ? to : "");
	err = view__select(&s->request, a);
	if (!err)
		slices__width(&s->request, SIDE_SLICE_CNT, s->width);
	return err;
}

static double sides_range_ns(const struct web_request *r)
{
	int64_t from = 0, to = 0;

	query_params__int(&r->params, "from", &from);
	query_params__int(&r->params, "to", &to);
	return to > from ? (double)(to - from) : 1;
}

static int side_count_spans(struct side *s, struct answer *a)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = view__query(&s->request, "sql/view/span_count.sql", &result, a);

	if (!err)
		chunk = duckdb_fetch_chunk(result);
	if (chunk) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		s->size = (double)cells__int(&c, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	if (!err && s->size < 1)
		err = answer__fail(a, 400,
				   "no span ends in one of the two sides, so the cost per span is "
				   "not known; compare per time");
	return err;
}

static int side_read(struct side *s, const struct metric *metric, bool by_spans, struct answer *a)
{
	int err = metric__read_slices(&s->request, metric, &s->rows, a);

	s->size = sides_range_ns(&s->request);
	if (!err && by_spans)
		err = side_count_spans(s, a);
	return err ? err : view__await_stacks(&s->request, a);
}

int sides__read(struct sides *s, struct web_request *r, struct answer *a)
{
	const char *normalise = query_params__find(&r->params, "normalise");
	bool by_spans = normalise && strcmp(normalise, "spans") == 0;
	int err;

	s->metric = metric__of(r, a);
	if (normalise && !by_spans && strcmp(normalise, "time") != 0)
		return answer__fail(a, 400, "normalise is time or spans");
	err = s->metric ? 0 : -EINVAL;
	for (int side = 0; side < SIDE_CNT && !err; side++) {
		err = side_select(&s->of[side], r, side, a);
		query_params__set(&s->of[side].request.params, "root", s->by ? s->by : "");
		if (!err)
			err = side_read(&s->of[side], s->metric, by_spans, a);
	}
	if (!err)
		s->scale = s->of[SIDE_A].size / s->of[SIDE_B].size;
	return err;
}

void sides__free(struct sides *s)
{
	for (int i = 0; i < SIDE_CNT; i++) {
		metric_rows__free(&s->of[i].rows);
		metric_list__free(&s->of[i].list);
	}
}

int sides__list(struct sides *s, const struct metric_shape *shape)
{
	int err = 0;

	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = metric__each(shape, &s->of[i].rows, metric_list__take, &s->of[i].list);
	return err;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static int sides_compare_all(struct comparison *c, struct bootstrap *b, const struct side_series *s)
{
	int err = bootstrap__init(b, SIDE_SLICE_CNT, SIDE_SLICE_CNT);

	for (size_t i = 0; i < s->cnt && !err; i++) {
		struct bootstrap_series series = { s->values[SIDE_A] + i * SIDE_SLICE_CNT,
						   s->values[SIDE_B] + i * SIDE_SLICE_CNT,
						   s->scale };

		c->results[i] = bootstrap__compare(b, &series);
	}
	bootstrap__free(b);
	return err ? err : bootstrap__choose(c->results, s->cnt, c->significant);
}

int comparison__make(struct comparison *c, const struct side_series *s)
{
	struct bootstrap *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	*c = (struct comparison){ calloc(s->cnt + 1, sizeof(*c->results)),
				  calloc(s->cnt + 1, sizeof(*c->significant)) };
	if (b && c->results && c->significant)
		err = sides_compare_all(c, b, s);
	free(b);
	return err;
}

void comparison__free(struct comparison *c)
{
	free(c->results);
	free(c->significant);
	*c = (struct comparison){ 0 };
}

double side_series__sum(const struct side_series *s, enum diff_side side, size_t index)
{
	const int64_t *values = s->values[side] + index * SIDE_SLICE_CNT;
	double sum = 0;

	for (size_t i = 0; i < SIDE_SLICE_CNT; i++)
		sum += (double)values[i];
	return side == SIDE_B ? sum * s->scale : sum;
}
