// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers api/sandwich: the callers of a function and the functions that it calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/web/answers.h"
#include "stacksexport/web/flame.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/metricsums.h"

#define SANDWICH_NODES_MAX 20000

/* One half, which is its own tree. */
struct sandwich_half {
	struct trie trie;
	struct tree_weights values;
};

struct sandwich {
	const struct trie *all;
	const int64_t *self;
	int64_t *total;
	uint32_t function;
	uint32_t *below; /* by node of `all`: its node in the callees; KEYMAP_NONE: none */
	struct sandwich_half callers, callees;
};

static int sandwich_half_add(struct sandwich_half *h, uint32_t node, int64_t value)
{
	return node == KEYMAP_NONE ? -ENOMEM : tree_weights__add(&h->values, node, value);
}

/* Adds the callers, from the function up to the root. A function without callers keeps its value
 * itself. */
static int sandwich_add_callers(struct sandwich *s, uint32_t node)
{
	uint32_t at = trie__child(&s->callers.trie, TRIE_ROOT, s->function);
	uint32_t caller = node;

	while (at != KEYMAP_NONE && (caller = trie__parent(s->all, caller)) != TRIE_ROOT)
		at = trie__child(&s->callers.trie, at, trie__function(s->all, caller));
	return sandwich_half_add(&s->callers, at, s->total[node]);
}

/* Enters a recursive function once, by its outermost call. */
static int sandwich_add_node(struct sandwich *s, uint32_t node)
{
	uint32_t parent = s->below[trie__parent(s->all, node)];
	uint32_t function = trie__function(s->all, node);

	s->below[node] = KEYMAP_NONE;
	if (parent == KEYMAP_NONE && function != s->function)
		return 0;
	if (parent == KEYMAP_NONE && s->total[node] && sandwich_add_callers(s, node) != 0)
		return -ENOMEM;
	s->below[node] =
		trie__child(&s->callees.trie, parent == KEYMAP_NONE ? TRIE_ROOT : parent, function);
	return sandwich_half_add(&s->callees, s->below[node], s->self[node]);
}

static int sandwich_fill(struct sandwich *s)
{
	int err = 0;

	s->total = calloc(trie__cnt(s->all), sizeof(*s->total));
	s->below = calloc(trie__cnt(s->all), sizeof(*s->below));
	if (!s->total || !s->below)
		return -ENOMEM;
	trie__sum(s->all, s->self, s->total);
	s->below[TRIE_ROOT] = KEYMAP_NONE;
	for (uint32_t node = 1; node < trie__cnt(s->all) && !err; node++)
		err = sandwich_add_node(s, node);
	return err;
}

static int sandwich_half_show(struct sandwich_half *h, const struct metric_shape *shape,
			      struct buf *out)
{
	struct flame f = { 0 };
	int err = tree_weights__fit(&h->values, &h->trie);

	if (!err)
		err = flame__init(&f, &h->trie, &h->values, SANDWICH_NODES_MAX);
	if (!err) {
		json_out__open(out, '{');
		flame__show_head(shape->metric, f.total[TRIE_ROOT], out);
		err = flame__show(&f, shape, out);
		json_out__close(out, '}');
	}
	flame__free(&f);
	return err;
}

static void sandwich_half_free(struct sandwich_half *h)
{
	trie__free(&h->trie);
	tree_weights__free(&h->values);
}

static int sandwich_show(struct sandwich *s, const struct metric_shape *shape, struct buf *out)
{
	int err = sandwich_fill(s);

	json_out__key(out, "callers");
	if (!err)
		err = sandwich_half_show(&s->callers, shape, out);
	json_out__key(out, "callees");
	if (!err)
		err = sandwich_half_show(&s->callees, shape, out);
	sandwich_half_free(&s->callers);
	sandwich_half_free(&s->callees);
	free(s->total);
	free(s->below);
	return err;
}

static uint32_t sandwich_find_function(const struct web_request *r)
{
	const char *name = query_params__find(&r->params, "name");
	const char *module = query_params__find(&r->params, "module");
	struct frame_text n = { name, name ? strlen(name) : 0 };
	struct frame_text m = { module, module ? strlen(module) : 0 };

	return stackset__find_function(r->view->model.stacks, n, m);
}

/* Must hold the lock. */
static int sandwich_of_rows(struct web_request *r, const struct metric *m,
			    const struct calltree_options *o, struct metric_rows *rows,
			    struct buf *out)
{
	struct model *model = &r->view->model;
	struct metric_shape shape = { model, m, model__tree(model, o), SHAPE_FULL, true };
	struct metric_sums sums = { 0 };
	struct sandwich s = { .function = sandwich_find_function(r) };
	int err = shape.tree ? metric__sum(&shape, rows, &sums) : -ENOMEM;

	if (!err) {
		s.all = calltree__trie(shape.tree);
		s.self = sums.values.values;
		err = sandwich_show(&s, &shape, out);
	}
	metric_sums__free(&sums);
	return err;
}

int sandwich__answer(struct web_request *r, struct answer *a)
{
	const struct metric *m = metric__of(r, a);
	struct calltree_options o = { 0 };
	struct metric_rows rows = { 0 };
	int err = m ? flame__options(r, &o, a) : -EINVAL;

	if (!err)
		err = metric__read(r, m, &rows, a);
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		json_out__open(&a->json, '{');
		pthread_mutex_lock(&r->view->model.lock);
		err = sandwich_of_rows(r, m, &o, &rows, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
		json_out__close(&a->json, '}');
	}
	metric_rows__free(&rows);
	return err;
}
