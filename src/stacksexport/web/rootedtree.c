// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/rootedtree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "stacksexport/duck/cells.h"

#define PART_MIN 5000 /* as in flame.c: less than 0.02 % of the total is not shown */

/* The state of one call. The arrays by node are zero between two roots. */
struct rooting {
	struct rooted_tree *out;
	const struct trie *all;
	struct metric_list list;
	struct keymap labels; /* entry i: functions[i] */
	uint32_t *functions;
	size_t function_cap;
	int64_t *self, *total; /* by node of `all` */
	uint32_t *place;       /* by node of `all`: its node in the output */
	uint32_t *touched;     /* nodes of the root */
	size_t touched_cnt, touched_cap;
	uint64_t least; /* smaller nodes are dropped */
};

static uint64_t rootedtree_size_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* ---- rows and labels ------------------------------------------------------------------------ */

static int rootedtree_compare_labels(const void *a, const void *b)
{
	const struct metric_value *x = a, *y = b;

	return x->label < y->label ? -1 : x->label > y->label;
}

static int rootedtree_add_label(struct rooting *r, struct model *m, uint32_t label,
				struct frame_text text)
{
	struct frame_text module = { 0 };
	uint32_t function = stackset__add_function(m->stacks, text, module, FRAME_LABEL);
	uint32_t *functions =
		array__room(r->functions, r->labels.cnt, &r->function_cap, sizeof(*functions));
	bool is_new;
	uint32_t index;

	if (!functions || function == KEYMAP_NONE)
		return -ENOMEM;
	r->functions = functions;
	index = keymap__add(&r->labels, label, 0, &is_new);
	if (index == KEYMAP_NONE)
		return -ENOMEM;
	functions[index] = function;
	return 0;
}

static int rootedtree_add_labels(struct rooting *r, struct model *m, duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		struct cells label = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells text = cells__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !err; row++) {
			struct frame_text t;

			t.s = cells__str(&text, row, &t.sz);
			err = rootedtree_add_label(r, m, (uint32_t)cells__int(&label, row), t);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	return err;
}

/* ---- one root ------------------------------------------------------------------------------- */

static int rootedtree_touch(struct rooting *r, uint32_t node)
{
	uint32_t *touched =
		array__room(r->touched, r->touched_cnt, &r->touched_cap, sizeof(*touched));

	if (!touched)
		return -ENOMEM;
	r->touched = touched;
	touched[r->touched_cnt++] = node;
	r->place[node] = KEYMAP_NONE;
	return 0;
}

static int root_add(struct rooting *r, const struct metric_value *v)
{
	int err = 0;

	r->self[v->node] = trie__add(r->self[v->node], v->value);
	for (uint32_t node = v->node; node != TRIE_ROOT && !err;
	     node = trie__parent(r->all, node)) {
		r->total[node] = trie__add(r->total[node], v->value);
		if (!r->place[node])
			err = rootedtree_touch(r, node);
	}
	return err;
}

static int rootedtree_compare_nodes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int root_drop(struct rooting *r, uint32_t parent, int64_t value)
{
	r->out->dropped_cnt++;
	if (parent == KEYMAP_NONE)
		return 0;
	r->out->dropped_value = trie__add(r->out->dropped_value, value);
	return tree_weights__add(&r->out->values, parent, value);
}

/* Places a node below its caller if it is large enough. Callers come first. */
static int root_place(struct rooting *r, uint32_t node, uint32_t root)
{
	uint32_t parent = trie__parent(r->all, node);
	uint32_t at = parent == TRIE_ROOT ? root : r->place[parent];

	if (at == KEYMAP_NONE || rootedtree_size_of(r->total[node]) < r->least)
		return root_drop(r, at, r->total[node]);
	r->place[node] = trie__child(&r->out->trie, at, trie__function(r->all, node));
	if (r->place[node] == KEYMAP_NONE)
		return -ENOMEM;
	return tree_weights__add(&r->out->values, r->place[node], r->self[node]);
}

static int root_finish(struct rooting *r, uint32_t label)
{
	uint32_t index = keymap__find(&r->labels, label, 0);
	uint32_t root = index == KEYMAP_NONE
				? TRIE_ROOT
				: trie__child(&r->out->trie, TRIE_ROOT, r->functions[index]);
	int err = root == KEYMAP_NONE ? -ENOMEM : 0;

	qsort(r->touched, r->touched_cnt, sizeof(*r->touched), rootedtree_compare_nodes);
	for (size_t i = 0; i < r->touched_cnt && !err; i++)
		err = root_place(r, r->touched[i], root);
	for (size_t i = 0; i < r->touched_cnt; i++) {
		r->self[r->touched[i]] = r->total[r->touched[i]] = 0;
		r->place[r->touched[i]] = 0;
	}
	r->touched_cnt = 0;
	return err;
}

/* ---- all roots ------------------------------------------------------------------------------ */

static int rooting_run(struct rooting *r)
{
	uint32_t cnt = trie__cnt(r->all);
	int64_t total = 0;
	int err = 0;

	r->self = calloc(cnt, sizeof(*r->self));
	r->total = calloc(cnt, sizeof(*r->total));
	r->place = calloc(cnt, sizeof(*r->place));
	if (!r->self || !r->total || !r->place)
		return -ENOMEM;
	for (size_t i = 0; i < r->list.cnt; i++)
		total = trie__add(total, r->list.rows[i].value);
	r->least = rootedtree_size_of(total) / PART_MIN + 1;
	qsort(r->list.rows, r->list.cnt, sizeof(*r->list.rows), rootedtree_compare_labels);
	for (size_t i = 0; i < r->list.cnt && !err; i++) {
		err = root_add(r, &r->list.rows[i]);
		if (!err &&
		    (i + 1 == r->list.cnt || r->list.rows[i + 1].label != r->list.rows[i].label))
			err = root_finish(r, r->list.rows[i].label);
	}
	return err ? err : tree_weights__fit(&r->out->values, &r->out->trie);
}

int rooted_tree__build(struct rooted_tree *out, const struct metric_shape *shape,
		       struct metric_rows *rows)
{
	struct rooting r = { .out = out, .all = calltree__trie(shape->tree) };
	int err = rootedtree_add_labels(&r, shape->model, &rows->labels);

	if (!err)
		err = metric__each(shape, rows, metric_list__take, &r.list);
	if (!err)
		err = rooting_run(&r);
	keymap__free(&r.labels);
	free(r.functions);
	metric_list__free(&r.list);
	free(r.touched);
	free(r.self);
	free(r.total);
	free(r.place);
	return err;
}

void rooted_tree__free(struct rooted_tree *t)
{
	trie__free(&t->trie);
	tree_weights__free(&t->values);
}
