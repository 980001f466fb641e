// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/slices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stacksexport/web/jsonout.h"

#define SLICES_MAX 1000

/* Returns the place of a node, or of its nearest caller that was not dropped. */
static uint32_t slices_place_of(const struct flame *f, uint32_t node)
{
	while (f->place[node] == KEYMAP_NONE)
		node = trie__parent(f->trie, node);
	return f->place[node];
}

static void slices_add_to(int64_t *sum, int64_t value)
{
	*sum = trie__add(*sum, value);
}

int slices__init(struct slices *s, const struct flame *f, const struct metric_list *list,
		 size_t cnt)
{
	*s = (struct slices){ .node_cnt = f->kept_cnt, .cnt = cnt };
	s->values = calloc(s->node_cnt * cnt, sizeof(*s->values));
	if (!s->values)
		return -ENOMEM;
	for (size_t i = 0; i < list->cnt; i++) {
		const struct metric_value *v = &list->rows[i];

		if (v->label && v->label <= cnt)
			slices_add_to(&s->values[slices_place_of(f, v->node) * cnt + v->label - 1],
				      v->value);
	}
	return 0;
}

void slices__free(struct slices *s)
{
	free(s->values);
	*s = (struct slices){ 0 };
}

void slices__sum(struct slices *s, const struct flame *f)
{
	for (size_t node = s->node_cnt; --node > 0;) {
		size_t parent = f->place[trie__parent(f->trie, f->kept[node])];

		for (size_t i = 0; i < s->cnt; i++)
			slices_add_to(&s->values[parent * s->cnt + i],
				      s->values[node * s->cnt + i]);
	}
}

int64_t slices__width(struct web_request *r, size_t cnt, char text[24])
{
	int64_t from = 0, to = 0, width;

	query_params__int(&r->params, "from", &from);
	query_params__int(&r->params, "to", &to);
	width = to > from ? (to - from + (int64_t)cnt - 1) / (int64_t)cnt : 1;
	snprintf(text, 24, "%" PRId64, width);
	query_params__set(&r->params, "width", text);
	return width;
}

int slices__total(const struct metric_list *list, const struct trie *trie, struct tree_weights *w)
{
	int err = 0;

	for (size_t i = 0; i < list->cnt && !err; i++)
		err = tree_weights__add(w, list->rows[i].node, list->rows[i].value);
	return err ? err : tree_weights__fit(w, trie);
}

/* ---- api/flame?slices=N --------------------------------------------------------------------- */

enum slice_field { SLICE_NODE, SLICE_SLICE, SLICE_VALUE };

static void slices_show_field(const struct slices *s, enum slice_field field, struct buf *out)
{
	json_out__open(out, '[');
	for (size_t node = 0; node < s->node_cnt; node++)
		for (size_t i = 0; i < s->cnt; i++) {
			int64_t value = s->values[node * s->cnt + i];

			if (value)
				json_out__int(out, field == SLICE_NODE	  ? (int64_t)node
						   : field == SLICE_SLICE ? (int64_t)i
									  : value);
		}
	json_out__close(out, ']');
}

static void slices_show(const struct slices *s, int64_t width_ns, struct buf *out)
{
	json_out__key(out, "slices");
	json_out__open(out, '{');
	json_out__key_int(out, "ns", width_ns);
	json_out__key(out, "node");
	slices_show_field(s, SLICE_NODE, out);
	json_out__key(out, "slice");
	slices_show_field(s, SLICE_SLICE, out);
	json_out__key(out, "value");
	slices_show_field(s, SLICE_VALUE, out);
	json_out__close(out, '}');
}

/* The parameters of a request. */
struct slices_request {
	const struct metric *metric;
	struct calltree_options options;
	size_t limit, cnt;
	int64_t width_ns;
};

/* Must hold the lock. */
static int slices_of_rows(struct model *model, const struct slices_request *q,
			  struct metric_rows *rows, struct buf *out)
{
	struct metric_shape shape = { model, q->metric, model__tree(model, &q->options), SHAPE_FULL,
				      true };
	struct metric_list list = { 0 };
	struct tree_weights weights = { 0 };
	struct slices slices = { 0 };
	struct flame f = { 0 };
	int err = shape.tree ? metric__each(&shape, rows, metric_list__take, &list) : -ENOMEM;

	if (!err)
		err = slices__total(&list, calltree__trie(shape.tree), &weights);
	if (!err)
		err = flame__init(&f, calltree__trie(shape.tree), &weights, q->limit);
	if (!err)
		err = slices__init(&slices, &f, &list, q->cnt);
	if (!err) {
		flame__show_head(q->metric, f.total[TRIE_ROOT], out);
		err = flame__show(&f, &shape, out);
		slices_show(&slices, q->width_ns, out);
	}
	slices__free(&slices);
	flame__free(&f);
	tree_weights__free(&weights);
	metric_list__free(&list);
	return err;
}

static int slices_read(struct web_request *r, struct slices_request *q, struct answer *a)
{
	int64_t cnt = 1;
	int err;

	*q = (struct slices_request){ .metric = metric__of(r, a) };
	err = q->metric ? flame__options(r, &q->options, a) : -EINVAL;
	if (!err)
		err = flame__limit(r, &q->limit, a);
	if (!err &&
	    (query_params__int(&r->params, "slices", &cnt) != 0 || cnt < 1 || cnt > SLICES_MAX))
		err = answer__fail(a, 400, "slices is a number from 1 to %d", SLICES_MAX);
	q->cnt = (size_t)cnt;
	return err;
}

int slices__answer(struct web_request *r, struct answer *a)
{
	struct metric_rows rows = { 0 };
	struct slices_request q;
	char width[24];
	int err = slices_read(r, &q, a);

	if (!err)
		q.width_ns = slices__width(r, q.cnt, width);
	if (!err)
		err = metric__read_slices(r, q.metric, &rows, a);
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		json_out__open(&a->json, '{');
		pthread_mutex_lock(&r->view->model.lock);
		err = slices_of_rows(&r->view->model, &q, &rows, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
		json_out__close(&a->json, '}');
	}
	metric_rows__free(&rows);
	return err;
}
