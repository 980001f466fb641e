// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/rootedtree.h"

#define LIMIT_DEFAULT 20000
#define LIMIT_MAX     200000
#define PART_MIN      5000 /* a node of less than 1/5000 of the total is dropped: 0.02 % */

/* ---- which nodes are kept ------------------------------------------------------------------- */

static uint64_t flame_size_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int flame_compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the size of the smallest of the `limit` largest nodes, at least `least`. Sets *err to
 * -ENOMEM. */
static uint64_t flame_least_size(const struct flame *f, uint64_t least, size_t limit, int *err)
{
	uint32_t cnt = trie__cnt(f->trie), found = 0;
	uint64_t *sizes = calloc(cnt, sizeof(*sizes));

	if (!sizes) {
		*err = -ENOMEM;
		return least;
	}
	for (uint32_t i = 1; i < cnt; i++)
		if (flame_size_of(f->total[i]) >= least)
			sizes[found++] = flame_size_of(f->total[i]);
	if (found > limit) {
		qsort(sizes, found, sizeof(*sizes), flame_compare_sizes);
		least = sizes[limit] + 1;
	}
	free(sizes);
	return least;
}

static void flame_keep(struct flame *f, uint32_t node)
{
	f->place[node] = f->kept_cnt;
	f->kept[f->kept_cnt++] = node;
}

static void flame_drop(struct flame *f, uint32_t node, uint32_t parent)
{
	f->place[node] = KEYMAP_NONE;
	if (!f->total[node])
		return;
	f->dropped_cnt++;
	if (f->place[parent] == KEYMAP_NONE)
		return;
	f->self[parent] = trie__add(f->self[parent], f->total[node]);
	f->dropped_value = trie__add(f->dropped_value, f->total[node]);
}

static void flame_choose(struct flame *f, uint64_t least)
{
	flame_keep(f, TRIE_ROOT);
	for (uint32_t node = 1; node < trie__cnt(f->trie); node++) {
		uint32_t parent = trie__parent(f->trie, node);

		if (f->place[parent] != KEYMAP_NONE && flame_size_of(f->total[node]) >= least)
			flame_keep(f, node);
		else
			flame_drop(f, node, parent);
	}
}

int flame__init(struct flame *f, const struct trie *trie, struct tree_weights *self, size_t limit)
{
	uint32_t cnt = trie__cnt(trie);
	uint64_t least;
	int err = 0;

	*f = (struct flame){ .trie = trie, .self = self->values };
	*self = (struct tree_weights){ 0 };
	f->total = calloc(cnt, sizeof(*f->total));
	f->kept = calloc(cnt, sizeof(*f->kept));
	f->place = calloc(cnt, sizeof(*f->place));
	if (!f->total || !f->kept || !f->place)
		return -ENOMEM;
	trie__sum(trie, f->self, f->total);
	least = flame_size_of(f->total[TRIE_ROOT]) / PART_MIN;
	least = flame_least_size(f, least ? least : 1, limit, &err);
	flame_choose(f, least);
	return err;
}

void flame__free(struct flame *f)
{
	free(f->self);
	free(f->total);
	free(f->kept);
	free(f->place);
	*f = (struct flame){ 0 };
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Numbers texts in the order in which nodes refer to them. */
struct flame_texts {
	struct keymap keys; /* IDs of the stackset's strings */
};

static int64_t flame_texts_number(struct flame_texts *t, uint32_t id)
{
	bool is_new;

	return keymap__add(&t->keys, id, 0, &is_new);
}

static void flame_texts_show(const struct flame_texts *t, const struct stackset *s, const char *key,
			     struct buf *out)
{
	json_out__key(out, key);
	json_out__open(out, '[');
	for (uint32_t i = 0; i < t->keys.cnt; i++) {
		struct frame_text text = stackset__text(s, (uint32_t)t->keys.keys[i].a);

		json_out__text(out, text.s, text.sz);
	}
	json_out__close(out, ']');
}

struct flame_showing {
	const struct flame *flame;
	const struct stackset *stacks;
	const uint32_t *states;
	struct flame_texts names, modules;
};

static const struct function *flame_function_at(const struct flame_showing *s, uint32_t node)
{
	static const struct function root = { .kind = FRAME_LABEL };

	return node == TRIE_ROOT
		       ? &root
		       : stackset__function(s->stacks, trie__function(s->flame->trie, node));
}

static int64_t flame_field_name(struct flame_showing *s, uint32_t node)
{
	return flame_texts_number(&s->names, flame_function_at(s, node)->name);
}

static int64_t flame_field_module(struct flame_showing *s, uint32_t node)
{
	return flame_texts_number(&s->modules, flame_function_at(s, node)->module);
}

static int64_t flame_field_parent(struct flame_showing *s, uint32_t node)
{
	return node == TRIE_ROOT ? -1
				 : (int64_t)s->flame->place[trie__parent(s->flame->trie, node)];
}

static int64_t flame_field_self(struct flame_showing *s, uint32_t node)
{
	return s->flame->self[node];
}

static int64_t flame_field_total(struct flame_showing *s, uint32_t node)
{
	return s->flame->total[node];
}

static int64_t flame_field_kind(struct flame_showing *s, uint32_t node)
{
	return flame_function_at(s, node)->kind;
}

static int64_t flame_field_state(struct flame_showing *s, uint32_t node)
{
	for (int i = 0; i < STATE_CNT; i++)
		if (trie__function(s->flame->trie, node) == s->states[i])
			return i;
	return -1;
}

static const struct {
	const char *name;
	int64_t (*of)(struct flame_showing *, uint32_t node);
} fields[] = {
	{ "name", flame_field_name },	  { "module", flame_field_module },
	{ "parent", flame_field_parent }, { "self", flame_field_self },
	{ "total", flame_field_total },	  { "kind", flame_field_kind },
	{ "state", flame_field_state },
};

static void flame_show_nodes(struct flame_showing *s, struct buf *out)
{
	json_out__key(out, "nodes");
	json_out__open(out, '{');
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		json_out__key(out, fields[i].name);
		if (fields[i].of == flame_field_state && !s->states) {
			json_out__null(out);
			continue;
		}
		json_out__open(out, '[');
		for (uint32_t k = 0; k < s->flame->kept_cnt; k++)
			json_out__int(out, fields[i].of(s, s->flame->kept[k]));
		json_out__close(out, ']');
	}
	if (s->flame->more)
		s->flame->more(s->flame->more_arg, out);
	json_out__close(out, '}');
}

int flame__show(const struct flame *f, const struct metric_shape *shape, struct buf *out)
{
	struct stackset *stacks = shape->model->stacks;
	struct flame_showing s = { .flame = f, .stacks = stacks };
	uint32_t states[STATE_CNT];

	for (int i = 0; i < STATE_CNT && shape->metric->states; i++)
		states[i] = weight_state__function(shape->model, i);
	s.states = shape->metric->states ? states : NULL;
	flame_show_nodes(&s, out);
	flame_texts_show(&s.names, stacks, "names", out);
	flame_texts_show(&s.modules, stacks, "modules", out);
	json_out__key(out, "dropped");
	json_out__open(out, '{');
	json_out__key_int(out, "nodes", f->dropped_cnt);
	json_out__key_int(out, "value", f->dropped_value);
	json_out__close(out, '}');
	keymap__free(&s.names.keys);
	keymap__free(&s.modules.keys);
	return buf__err(out);
}

/* ---- the request ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum tree_merge merge;
} merges[] = { { "function", MERGE_FUNCTION }, { "module", MERGE_MODULE }, { "line", MERGE_LINE } };

static const struct {
	const char *name;
	enum tree_hide hide;
} hides[] = { { "kernel", HIDE_KERNEL },
	      { "interpreter", HIDE_INTERPRETER },
	      { "library", HIDE_LIBRARY },
	      { "idle", 0 /* metric__read() leaves the waits out */ } };

static int flame_read_merge(const char *text, enum tree_merge *merge, struct answer *a)
{
	for (size_t i = 0; i < sizeof(merges) / sizeof(*merges); i++)
		if (strcmp(text, merges[i].name) == 0) {
			*merge = merges[i].merge;
			return 0;
		}
	return answer__fail(a, 400, "merge is function, module or line, not '%s'", text);
}

/* "kernel,library" */
static int flame_read_hide(const char *text, unsigned *hide, struct answer *a)
{
	while (*text) {
		size_t sz = strcspn(text, ","), i = 0, cnt = sizeof(hides) / sizeof(*hides);

		while (i < cnt &&
		       (strlen(hides[i].name) != sz || strncmp(hides[i].name, text, sz) != 0))
			i++;
		if (i == cnt)
			return answer__fail(a, 400, "hide is kernel, interpreter, library or idle");
		*hide |= hides[i].hide;
		text += sz + (text[sz] == ',');
	}
	return 0;
}

int flame__options(const struct web_request *r, struct calltree_options *o, struct answer *a)
{
	const char *merge = query_params__find(&r->params, "merge");
	const char *hide = query_params__find(&r->params, "hide");
	int err = merge ? flame_read_merge(merge, &o->merge, a) : 0;

	return err || !hide ? err : flame_read_hide(hide, &o->hide, a);
}

int flame__limit(const struct web_request *r, size_t *limit, struct answer *a)
{
	int64_t n = LIMIT_DEFAULT;

	if (query_params__int(&r->params, "limit", &n) != 0 || n < 1 || n > LIMIT_MAX)
		return answer__fail(a, 400, "limit is a number from 1 to %d", LIMIT_MAX);
	*limit = (size_t)n;
	return 0;
}

void flame__show_head(const struct metric *m, int64_t total, struct buf *out)
{
	json_out__key_text(out, "unit", m->unit);
	json_out__key_int(out, "total", total);
	json_out__key(out, "states");
	if (!m->states) {
		json_out__null(out);
		return;
	}
	json_out__open(out, '[');
	for (int i = 0; i < STATE_CNT; i++)
		json_out__text(out, weight_states[i], strlen(weight_states[i]));
	json_out__close(out, ']');
}

/* The parameters of a request. */
struct flame_request {
	const struct metric *metric;
	struct calltree_options options;
	size_t limit;
	bool has_root;
	flame_show_fn *show;
};

/* The sums to show, and the nodes that were dropped from them earlier. */
struct flame_sums {
	const struct trie *trie;
	struct tree_weights *values;
	uint32_t dropped_cnt;
	int64_t dropped_value;
};

static int flame_show_sums(const struct metric_shape *shape, const struct flame_sums *sums,
			   const struct flame_request *q, struct buf *out)
{
	struct flame f = { 0 };
	int err = flame__init(&f, sums->trie, sums->values, q->limit);

	if (!err) {
		f.dropped_cnt += sums->dropped_cnt;
		f.dropped_value = trie__add(f.dropped_value, sums->dropped_value);
		err = q->show(&f, shape, out);
	}
	flame__free(&f);
	return err;
}

static int flame_take_value(const struct metric_value *v, void *weights)
{
	return tree_weights__add(weights, v->node, v->value);
}

/* Must hold the lock. */
static int flame_of_tree(const struct metric_shape *shape, struct metric_rows *rows,
			 const struct flame_request *q, struct buf *out)
{
	const struct trie *trie = calltree__trie(shape->tree);
	struct tree_weights values = { 0 };
	int err = tree_weights__fit(&values, trie);

	if (!err)
		err = metric__each(shape, rows, flame_take_value, &values);
	if (!err) /* the tree may have grown */
		err = tree_weights__fit(&values, trie);
	if (!err)
		err = flame_show_sums(shape, &(struct flame_sums){ trie, &values, 0, 0 }, q, out);
	tree_weights__free(&values);
	return err;
}

static int flame_of_roots(const struct metric_shape *shape, struct metric_rows *rows,
			  const struct flame_request *q, struct buf *out)
{
	struct rooted_tree roots = { 0 };
	int err = rooted_tree__build(&roots, shape, rows);

	if (!err)
		err = flame_show_sums(shape,
				      &(struct flame_sums){ &roots.trie, &roots.values,
							    roots.dropped_cnt,
							    roots.dropped_value },
				      q, out);
	rooted_tree__free(&roots);
	return err;
}

/* Must hold the lock. */
static int flame_of_rows(struct model *model, const struct flame_request *q,
			 struct metric_rows *rows, struct buf *out)
{
	struct metric_shape shape = { model, q->metric, model__tree(model, &q->options), SHAPE_FULL,
				      true };

	if (!shape.tree)
		return -ENOMEM;
	return q->has_root ? flame_of_roots(&shape, rows, q, out)
			   : flame_of_tree(&shape, rows, q, out);
}

static int flame_read(struct web_request *r, struct flame_request *q, struct answer *a)
{
	int err;

	*q = (struct flame_request){ .metric = metric__of(r, a) };
	err = q->metric ? flame__options(r, &q->options, a) : -EINVAL;
	return err ? err : flame__limit(r, &q->limit, a);
}

int flame__draw(struct web_request *r, flame_show_fn *show, struct answer *a)
{
	struct metric_rows rows = { 0 };
	struct flame_request q;
	int err = flame_read(r, &q, a);

	q.show = show;
	if (!err)
		err = metric__read(r, q.metric, &rows, a);
	if (!err)
		err = view__await_stacks(r, a);
	if (!err) {
		q.has_root = rows.has_roots;
		pthread_mutex_lock(&r->view->model.lock);
		err = flame_of_rows(&r->view->model, &q, &rows, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
	}
	metric_rows__free(&rows);
	return err;
}

static int flame_show_answer(const struct flame *f, const struct metric_shape *shape,
			     struct buf *out)
{
	int err;

	json_out__open(out, '{');
	flame__show_head(shape->metric, f->total[TRIE_ROOT], out);
	err = flame__show(f, shape, out);
	json_out__close(out, '}');
	return err;
}

int flame__answer(struct web_request *r, struct answer *a)
{
	return flame__draw(r, flame_show_answer, a);
}
