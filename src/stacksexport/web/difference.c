// SPDX-License-Identifier: GPL-2.0-or-later
/* What changed from one time range, or one recording, to another: api/diff. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/bootstrap.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/slices.h"

#define SLICE_CNT 40

enum diff_side { SIDE_A, SIDE_B, SIDE_CNT };

/* One side: its own request, with the time range of the side. */
struct side {
	struct web_request request;
	struct metric_rows rows;
	struct metric_list list;
	struct slices slices;
	double size; /* what the values are compared by: ns, or spans */
	char width[24];
};

struct diff {
	const struct metric *metric;
	struct calltree_options options;
	size_t limit;
	bool by_spans;
	double scale; /* of B, so that it is as large as A */
	struct side sides[SIDE_CNT];
	struct flame flame; /* of A and B together */
	struct bootstrap_result *results;
	bool *significant;
};

/* ---- reading -------------------------------------------------------------------------------- */

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
	query_params__set(&s->request.params, "root", "");
	err = view__select(&s->request, a);
	if (!err)
		slices__width(&s->request, SLICE_CNT, s->width);
	return err;
}

static double range_ns(const struct web_request *r)
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
		err = answer__fail(a, 400, "a side has no span to normalise by");
	return err;
}

static int side_read(struct diff *d, struct side *s, struct answer *a)
{
	int err = metric__read_slices(&s->request, d->metric, &s->rows, a);

	s->size = range_ns(&s->request);
	if (!err && d->by_spans)
		err = side_count_spans(s, a);
	return err ? err : view__await_stacks(&s->request, a);
}

static int diff_read(struct diff *d, struct web_request *r, struct answer *a)
{
	const char *normalise = query_params__find(&r->params, "normalise");
	int err;

	d->metric = metric__of(r, a);
	d->by_spans = normalise && strcmp(normalise, "spans") == 0;
	if (normalise && !d->by_spans && strcmp(normalise, "time") != 0)
		return answer__fail(a, 400, "normalise is time or spans");
	err = d->metric ? flame__options(r, &d->options, a) : -EINVAL;
	if (!err)
		err = flame__limit(r, &d->limit, a);
	for (int side = 0; side < SIDE_CNT && !err; side++) {
		err = side_select(&d->sides[side], r, side, a);
		if (!err)
			err = side_read(d, &d->sides[side], a);
	}
	if (!err)
		d->scale = d->sides[SIDE_A].size / d->sides[SIDE_B].size;
	return err;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static int diff_fill(struct diff *d, const struct metric_shape *shape)
{
	const struct trie *trie = calltree__trie(shape->tree);
	struct tree_weights both = { 0 };
	int err = 0;

	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = metric__each(shape, &d->sides[i].rows, metric_list__take, &d->sides[i].list);
	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = slices__total(&d->sides[i].list, trie, &both);
	if (!err)
		err = flame__init(&d->flame, trie, &both, d->limit);
	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = slices__init(&d->sides[i].slices, &d->flame, &d->sides[i].list, SLICE_CNT);
	for (int i = 0; i < SIDE_CNT && !err; i++)
		slices__sum(&d->sides[i].slices, &d->flame);
	tree_weights__free(&both);
	return err;
}

static const int64_t *series_of(const struct diff *d, enum diff_side side, size_t node)
{
	return &d->sides[side].slices.values[node * SLICE_CNT];
}

static int diff_compare(struct diff *d)
{
	size_t cnt = d->flame.kept_cnt;
	struct bootstrap *b = calloc(1, sizeof(*b));
	int err = b ? bootstrap__init(b, SLICE_CNT, SLICE_CNT) : -ENOMEM;

	d->results = calloc(cnt, sizeof(*d->results));
	d->significant = calloc(cnt, sizeof(*d->significant));
	if (!d->results || !d->significant)
		err = -ENOMEM;
	for (size_t node = 0; node < cnt && !err; node++) {
		struct bootstrap_series s = { series_of(d, SIDE_A, node),
					      series_of(d, SIDE_B, node), d->scale };

		d->results[node] = bootstrap__compare(b, &s);
	}
	if (b)
		bootstrap__free(b);
	free(b);
	return err ? err : bootstrap__choose(d->results, cnt, d->significant);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static double side_value(const struct diff *d, enum diff_side side, size_t node)
{
	const int64_t *values = series_of(d, side, node);
	double sum = 0;

	for (size_t i = 0; i < SLICE_CNT; i++)
		sum += (double)values[i];
	return side == SIDE_B ? sum * d->scale : sum;
}

static double field_a(const struct diff *d, size_t node)
{
	return side_value(d, SIDE_A, node);
}

static double field_b(const struct diff *d, size_t node)
{
	return side_value(d, SIDE_B, node);
}

static double field_p(const struct diff *d, size_t node)
{
	return d->results[node].p;
}

static double field_lo(const struct diff *d, size_t node)
{
	return d->results[node].lo;
}

static double field_hi(const struct diff *d, size_t node)
{
	return d->results[node].hi;
}

static double field_significant(const struct diff *d, size_t node)
{
	return d->significant[node];
}

static const struct {
	const char *name;
	double (*of)(const struct diff *, size_t node);
} diff_fields[] = {
	{ "a", field_a },   { "b", field_b },	{ "p", field_p },
	{ "lo", field_lo }, { "hi", field_hi }, { "significant", field_significant },
};

/* Fields of the nodes of the flame graph. */
static void diff_show_nodes(const void *diff, struct buf *out)
{
	const struct diff *d = diff;

	for (size_t i = 0; i < sizeof(diff_fields) / sizeof(*diff_fields); i++) {
		json_out__key(out, diff_fields[i].name);
		json_out__open(out, '[');
		for (size_t node = 0; node < d->flame.kept_cnt; node++)
			json_out__double(out, diff_fields[i].of(d, node));
		json_out__close(out, ']');
	}
}

static int diff_show(struct diff *d, const struct metric_shape *shape, struct buf *out)
{
	d->flame.more = diff_show_nodes;
	d->flame.more_arg = d;
	flame__show_head(d->metric, d->flame.total[TRIE_ROOT], out);
	json_out__key(out, "a_total");
	json_out__double(out, side_value(d, SIDE_A, 0));
	json_out__key(out, "b_total");
	json_out__double(out, side_value(d, SIDE_B, 0));
	return flame__show(&d->flame, shape, out);
}

/* Must hold the lock. */
static int diff_run(struct diff *d, struct model *model, struct buf *out)
{
	struct metric_shape shape = { model, d->metric, model__tree(model, &d->options), SHAPE_FULL,
				      true };
	int err = shape.tree ? diff_fill(d, &shape) : -ENOMEM;

	if (!err)
		err = diff_compare(d);
	return err ? err : diff_show(d, &shape, out);
}

static void diff_free(struct diff *d)
{
	for (int i = 0; i < SIDE_CNT; i++) {
		metric_rows__free(&d->sides[i].rows);
		metric_list__free(&d->sides[i].list);
		slices__free(&d->sides[i].slices);
	}
	flame__free(&d->flame);
	free(d->results);
	free(d->significant);
	free(d);
}

int diff__answer(struct web_request *r, struct answer *a)
{
	struct diff *d = calloc(1, sizeof(*d));
	int err = d ? diff_read(d, r, a) : -ENOMEM;

	if (!err) {
		json_out__open(&a->json, '{');
		pthread_mutex_lock(&r->view->model.lock);
		err = diff_run(d, &r->view->model, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
		json_out__close(&a->json, '}');
	}
	if (d)
		diff_free(d);
	return err;
}
