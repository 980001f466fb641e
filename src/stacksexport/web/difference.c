// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers api/diff: what changed from one time range, or one recording, to another, as a flame
 * graph. */
#include <errno.h>
#include <stdlib.h>

#include "stacksexport/web/answers.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/sides.h"

struct diff {
	struct calltree_options options;
	size_t limit;
	struct sides sides;
	struct slices slices[SIDE_CNT];
	struct side_series series; /* by node of the flame graph */
	struct comparison comparison;
	struct flame flame; /* of A and B together */
};

static int difference_read(struct diff *d, struct web_request *r, struct answer *a)
{
	int err = flame__options(r, &d->options, a);

	if (!err)
		err = flame__limit(r, &d->limit, a);
	return err ? err : sides__read(&d->sides, r, a);
}

static int diff_fill(struct diff *d, const struct metric_shape *shape)
{
	const struct trie *trie = calltree__trie(shape->tree);
	struct tree_weights both = { 0 };
	int err = sides__list(&d->sides, shape);

	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = slices__total(&d->sides.of[i].list, trie, &both);
	if (!err)
		err = flame__init(&d->flame, trie, &both, d->limit);
	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = slices__init(&d->slices[i], &d->flame, &d->sides.of[i].list, SIDE_SLICE_CNT);
	for (int i = 0; i < SIDE_CNT && !err; i++) {
		slices__sum(&d->slices[i], &d->flame);
		d->series.values[i] = d->slices[i].values;
	}
	d->series.cnt = d->flame.kept_cnt;
	d->series.scale = d->sides.scale;
	tree_weights__free(&both);
	return err;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static double difference_field_a(const struct diff *d, size_t node)
{
	return side_series__sum(&d->series, SIDE_A, node);
}

static double difference_field_b(const struct diff *d, size_t node)
{
	return side_series__sum(&d->series, SIDE_B, node);
}

static double difference_field_p(const struct diff *d, size_t node)
{
	return d->comparison.results[node].p;
}

static double difference_field_lo(const struct diff *d, size_t node)
{
	return d->comparison.results[node].lo;
}

static double difference_field_hi(const struct diff *d, size_t node)
{
	return d->comparison.results[node].hi;
}

static double difference_field_significant(const struct diff *d, size_t node)
{
	return d->comparison.significant[node];
}

static const struct {
	const char *name;
	double (*of)(const struct diff *, size_t node);
} diff_fields[] = {
	{ "a", difference_field_a },   { "b", difference_field_b },
	{ "p", difference_field_p },   { "lo", difference_field_lo },
	{ "hi", difference_field_hi }, { "significant", difference_field_significant },
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

static int difference_show(struct diff *d, const struct metric_shape *shape, struct buf *out)
{
	d->flame.more = diff_show_nodes;
	d->flame.more_arg = d;
	flame__show_head(d->sides.metric, d->flame.total[TRIE_ROOT], out);
	json_out__key(out, "a_total");
	json_out__double(out, difference_field_a(d, 0));
	json_out__key(out, "b_total");
	json_out__double(out, difference_field_b(d, 0));
	return flame__show(&d->flame, shape, out);
}

/* Must hold the lock. */
static int diff_run(struct diff *d, struct model *model, struct buf *out)
{
	struct metric_shape shape = { model, d->sides.metric, model__tree(model, &d->options),
				      SHAPE_FULL, true };
	int err = shape.tree ? diff_fill(d, &shape) : -ENOMEM;

	if (!err)
		err = comparison__make(&d->comparison, &d->series);
	return err ? err : difference_show(d, &shape, out);
}

static void diff_free(struct diff *d)
{
	sides__free(&d->sides);
	for (int i = 0; i < SIDE_CNT; i++)
		slices__free(&d->slices[i]);
	flame__free(&d->flame);
	comparison__free(&d->comparison);
	free(d);
}

int diff__answer(struct web_request *r, struct answer *a)
{
	struct diff *d = calloc(1, sizeof(*d));
	int err = d ? difference_read(d, r, a) : -ENOMEM;

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
