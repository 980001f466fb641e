// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "stacksexport/model/framelines.h"
#include "stacksexport/model/stackwait.h"

/* Stacks that are in the tree. Entry i belongs to key i. */
struct tree_leaves {
	struct keymap keys;
	uint32_t *nodes;
	size_t cap;
};

struct calltree {
	struct stackset *stacks;
	struct calltree_options options;
	struct trie trie;
	struct tree_leaves full, waiting; /* of events */
	struct tree_leaves below;	  /* of stacks: ID, and the node below which they are */
	struct framelines lines;
	bool *recursive; /* by node */
	uint32_t recursive_cnt;
	uint32_t no_stack; /* the function [no stack] */
};

static const struct frame_text no_stack_text = { "[no stack]", sizeof("[no stack]") - 1 };

struct calltree *calltree__new(struct stackset *stacks, const struct calltree_options *options)
{
	struct calltree *t = calloc(1, sizeof(*t));
	struct frame_text none = { 0 };

	if (!t)
		return NULL;
	t->stacks = stacks;
	t->options = *options;
	t->no_stack = stackset__add_function(stacks, no_stack_text, none, FRAME_LABEL);
	if (t->no_stack != KEYMAP_NONE)
		return t;
	calltree__free(t);
	errno = ENOMEM;
	return NULL;
}

static void calltree_leaves_free(struct tree_leaves *l)
{
	keymap__free(&l->keys);
	free(l->nodes);
}

/* Returns the place of a key's node, which is KEYMAP_NONE if the key is new. Returns NULL if out
 * of memory. */
static uint32_t *calltree_leaves_place(struct tree_leaves *l, uint64_t a, uint64_t b)
{
	uint32_t *nodes = array__room(l->nodes, l->keys.cnt, &l->cap, sizeof(*nodes));
	bool is_new = false;
	uint32_t index = KEYMAP_NONE;

	if (nodes) {
		l->nodes = nodes;
		index = keymap__add(&l->keys, a, b, &is_new);
	}
	if (is_new)
		nodes[index] = KEYMAP_NONE;
	return index == KEYMAP_NONE ? NULL : &nodes[index];
}

void calltree__free(struct calltree *t)
{
	if (!t)
		return;
	trie__free(&t->trie);
	framelines__free(&t->lines);
	calltree_leaves_free(&t->full);
	calltree_leaves_free(&t->waiting);
	calltree_leaves_free(&t->below);
	free(t->recursive);
	free(t);
}

struct trie *calltree__trie(struct calltree *t)
{
	return &t->trie;
}

const struct calltree_options *calltree__options(const struct calltree *t)
{
	return &t->options;
}

static bool calltree_is_hidden(const struct calltree *t, const struct function *f)
{
	return (t->options.hide & HIDE_KERNEL && f->kind == FRAME_KERNEL) ||
	       (t->options.hide & HIDE_INTERPRETER && f->kind == FRAME_INTERPRETER) ||
	       (t->options.hide & HIDE_LIBRARY && f->is_library);
}

/* Returns the function that stands for a module: its name is the module's. */
static uint32_t calltree_module_function(struct calltree *t, const struct function *f)
{
	struct frame_text module = stackset__text(t->stacks, f->module);

	return stackset__add_function(t->stacks, module, module, f->kind);
}

/* Returns true if the caller belongs to the same node: consecutive callers of one module are one
 * node. */
static uint32_t calltree_add_module(struct calltree *t, uint32_t node, const struct function *f)
{
	uint32_t function = calltree_module_function(t, f);

	if (function == KEYMAP_NONE)
		return KEYMAP_NONE;
	return trie__function(&t->trie, node) == function ? node
							  : trie__child(&t->trie, node, function);
}

static uint32_t calltree_add_lines(struct calltree *t, uint32_t node, uint32_t frame)
{
	size_t cnt;
	const uint32_t *functions = framelines__of(&t->lines, t->stacks, frame, &cnt);

	while (cnt-- > 0 && node != KEYMAP_NONE)
		node = trie__child(&t->trie, node, functions[cnt]);
	return functions ? node : KEYMAP_NONE;
}

static uint32_t calltree_add_frame(struct calltree *t, uint32_t node, uint32_t frame)
{
	uint32_t index = stackset__frame_at(t->stacks, frame)->function;
	const struct function *f = stackset__function(t->stacks, index);

	if (calltree_is_hidden(t, f))
		return node;
	switch (t->options.merge) {
	case MERGE_FUNCTION: return trie__child(&t->trie, node, index);
	case MERGE_MODULE: return calltree_add_module(t, node, f);
	case MERGE_LINE: return calltree_add_lines(t, node, frame);
	}
	return KEYMAP_NONE;
}

/* Adds the frames of a stack below a node, root first. */
static uint32_t calltree_add_frames(struct calltree *t, uint32_t node, uint64_t id)
{
	size_t cnt;
	const uint32_t *frames = stackset__find(t->stacks, id, &cnt);

	while (cnt-- > 0 && node != KEYMAP_NONE)
		node = calltree_add_frame(t, node, frames[cnt]);
	return node;
}

/* Like calltree_add_frames(), once per stack and node: many kernel stacks lie on one user stack. */
static uint32_t calltree_add_stack(struct calltree *t, uint32_t node, uint64_t id)
{
	uint32_t *place = id ? calltree_leaves_place(&t->below, id, node) : NULL;

	if (!id)
		return node;
	if (place && *place == KEYMAP_NONE)
		*place = calltree_add_frames(t, node, id);
	return place ? *place : KEYMAP_NONE;
}

/* Adds the frames that `stacksexport top` shows of a waiting stack. */
static uint32_t calltree_add_waiting(struct calltree *t, uint32_t node, uint64_t id)
{
	size_t cnt;
	const uint32_t *frames = stackset__find(t->stacks, id, &cnt);
	struct waiting w = stack_wait__find(t->stacks, frames, cnt);

	for (size_t i = cnt; cnt && i-- > w.waits_in && node != KEYMAP_NONE;)
		if (i == w.waits_in || !stack_wait__is_hidden(t->stacks, frames[i]))
			node = calltree_add_frame(t, node, frames[i]);
	return node;
}

static uint32_t calltree_build_leaf(struct calltree *t, const struct tree_stack *s)
{
	uint32_t node = TRIE_ROOT;

	if (s->shape == SHAPE_WAITING) {
		node = calltree_add_waiting(t, node, s->ustack ? s->ustack : s->kstack);
	} else {
		node = calltree_add_stack(t, node, s->ustack);
		if (node != KEYMAP_NONE)
			node = calltree_add_stack(t, node, s->kstack);
	}
	return node == TRIE_ROOT ? trie__child(&t->trie, node, t->no_stack) : node;
}

uint32_t calltree__leaf(struct calltree *t, const struct tree_stack *s)
{
	struct tree_leaves *leaves = s->shape == SHAPE_WAITING ? &t->waiting : &t->full;
	uint32_t *place = calltree_leaves_place(leaves, s->ustack, s->kstack);

	if (place && *place == KEYMAP_NONE)
		*place = calltree_build_leaf(t, s);
	return place ? *place : KEYMAP_NONE;
}

bool calltree__waits_for_work(const struct calltree *t, const struct tree_stack *s)
{
	size_t cnt;
	const uint32_t *frames = stackset__find(t->stacks, s->ustack ? s->ustack : s->kstack, &cnt);

	return stack_wait__find(t->stacks, frames, cnt).is_idle;
}

static bool calltree_is_caller_too(const struct trie *t, uint32_t node)
{
	uint32_t function = trie__function(t, node);

	while ((node = trie__parent(t, node)) != TRIE_ROOT)
		if (trie__function(t, node) == function)
			return true;
	return false;
}

const bool *calltree__recursive(struct calltree *t)
{
	uint32_t cnt = trie__cnt(&t->trie);
	bool *recursive = reallocarray(t->recursive, cnt, sizeof(*recursive));

	if (!recursive)
		return NULL;
	t->recursive = recursive;
	for (uint32_t node = t->recursive_cnt; node < cnt; node++)
		recursive[node] = node != TRIE_ROOT && calltree_is_caller_too(&t->trie, node);
	t->recursive_cnt = cnt;
	return recursive;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* The kernel gives zeroed pages; most of a large tree stays untouched. */
static int tree_weights_grow(struct tree_weights *w, size_t cnt)
{
	int64_t *values = w->values ? reallocarray(w->values, cnt, sizeof(*values))
				    : calloc(cnt, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (w->values)
		memset(values + w->cnt, 0, (cnt - w->cnt) * sizeof(*values));
	w->values = values;
	w->cnt = cnt;
	return 0;
}

int tree_weights__add(struct tree_weights *w, uint32_t node, int64_t value)
{
	if (node >= w->cnt && tree_weights_grow(w, (size_t)node + node / 2 + 1024) != 0)
		return -ENOMEM;
	w->values[node] = trie__add(w->values[node], value);
	return 0;
}

int tree_weights__fit(struct tree_weights *w, const struct trie *t)
{
	return w->cnt < trie__cnt(t) ? tree_weights_grow(w, trie__cnt(t)) : 0;
}

void tree_weights__free(struct tree_weights *w)
{
	free(w->values);
	*w = (struct tree_weights){ 0 };
}
