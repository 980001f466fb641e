// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/stacktree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/hash.h"
#include "base/jsonbuf.h"

/* Keys are compared as bytes, so they have no padding. Texts are IDs of stacktree.strings. */
struct node_key {
	uint32_t parent, name, module;
};

_Static_assert(sizeof(struct node_key) == 12, "no padding");

struct node_entry {
	UT_hash_handle hh;
	struct node_key key;
	uint32_t id;
};

struct stack_entry {
	UT_hash_handle hh;
	uint64_t key;
	uint32_t leaf;
	size_t names_sz;
	char names[];
};

/* uthash keeps the order in which nodes were added. */
struct stacktree {
	struct binaries *binaries;
	struct strtab *strings;
	struct node_entry *nodes;
	struct stack_entry *stacks;
	struct buf frames; /* struct node_key of the stack being read, without parents */
	struct buf names;  /* its names as JSON */
	struct buf text;   /* the name of the frame being read */
	int err;
};

struct stacktree *stacktree__new(struct binaries *binaries)
{
	struct stacktree *t = calloc(1, sizeof(*t));

	if (t) {
		t->binaries = binaries;
		t->strings = strtab__new();
	}
	if (t && t->strings)
		return t;
	stacktree__free(t);
	errno = ENOMEM;
	return NULL;
}

void stacktree__free(struct stacktree *t)
{
	struct node_entry *n, *n_next;
	struct stack_entry *s, *s_next;

	if (!t)
		return;
	HASH_ITER (hh, t->nodes, n, n_next) {
		HASH_DEL(t->nodes, n);
		free(n);
	}
	HASH_ITER (hh, t->stacks, s, s_next) {
		HASH_DEL(t->stacks, s);
		free(s);
	}
	strtab__free(t->strings);
	buf__free(&t->frames);
	buf__free(&t->names);
	buf__free(&t->text);
	free(t);
}

static uint32_t stacktree_intern(struct stacktree *t, const void *s, size_t sz)
{
	uint32_t id = sz ? strtab__id(t->strings, s, sz) : 0;

	if (sz && !id)
		t->err = -ENOMEM;
	return id;
}

void stacktree__frame(struct stacktree *t, const struct named_frame *f)
{
	const char *slash = f->module.sz ? memrchr(f->module.s, '/', f->module.sz) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - f->module.s) : 0;
	struct named_frame located = *f;
	struct node_key key = { 0 };

	binaries__locate(t->binaries, &located);
	buf__reset(&t->text);
	named_frame__append(&t->text, &located);
	if (buf__err(&t->text)) {
		t->err = -ENOMEM;
		return;
	}
	key.name = stacktree_intern(t, t->text.data, t->text.sz);
	key.module =
		f->module.sz ? stacktree_intern(t, f->module.s + skip, f->module.sz - skip) : 0;
	buf__append(&t->frames, &key, sizeof(key));
	buf__str(&t->names, t->names.sz ? "," : "[");
	jsonbuf__str(&t->names, (const char *)t->text.data, t->text.sz);
}

/* Returns the node of this name below that parent; 0 if out of memory. */
static uint32_t stacktree_node_id(struct stacktree *t, const struct node_key *key)
{
	struct node_entry *n;

	HASH_FIND(hh, t->nodes, key, sizeof(*key), n);
	if (n)
		return n->id;
	n = calloc(1, sizeof(*n));
	if (!n)
		return 0;
	n->key = *key;
	n->id = HASH_COUNT(t->nodes) + 1;
	HASH_ADD(hh, t->nodes, key, sizeof(n->key), n);
	if (HASH_ADDED(n))
		return n->id;
	free(n);
	return 0;
}

/* Adds frames from the root on, so that a parent exists before its children. */
static uint32_t stacktree_add_leaf(struct stacktree *t)
{
	struct node_key *keys = (struct node_key *)t->frames.data;
	uint32_t id = 0;

	for (size_t i = t->frames.sz / sizeof(*keys); i-- > 0;) {
		keys[i].parent = id;
		id = stacktree_node_id(t, &keys[i]);
		if (!id)
			return 0;
	}
	return id;
}

static int stacktree_add_stack(struct stacktree *t, uint64_t key)
{
	struct stack_entry *s = calloc(1, sizeof(*s) + t->names.sz);

	if (!s)
		return -ENOMEM;
	s->key = key;
	s->leaf = stacktree_add_leaf(t);
	s->names_sz = t->names.sz;
	memcpy(s->names, t->names.data, t->names.sz);
	if (s->leaf)
		HASH_ADD(hh, t->stacks, key, sizeof(s->key), s);
	if (s->leaf && HASH_ADDED(s))
		return 0;
	free(s);
	return -ENOMEM;
}

void stacktree__stack(struct stacktree *t, uint64_t key)
{
	struct stacktree_stack known;

	buf__str(&t->names, "]");
	if (buf__err(&t->frames) || buf__err(&t->names))
		t->err = -ENOMEM;
	if (!t->err && t->frames.sz && !stacktree__find(t, key, &known))
		t->err = stacktree_add_stack(t, key);
	buf__reset(&t->frames);
	buf__reset(&t->names);
}

bool stacktree__find(const struct stacktree *t, uint64_t key, struct stacktree_stack *out)
{
	struct stack_entry *s;

	HASH_FIND(hh, t->stacks, &key, sizeof(key), s);
	if (s)
		*out = (struct stacktree_stack){ s->leaf, s->names, s->names_sz };
	return s != NULL;
}

size_t stacktree__stack_cnt(const struct stacktree *t)
{
	return HASH_COUNT(t->stacks);
}

void stacktree__each(const struct stacktree *t,
		     void (*take)(const struct stacktree_node *, void *arg), void *arg)
{
	for (const struct node_entry *n = t->nodes; n; n = n->hh.next) {
		struct stacktree_node node = {
			.id = n->id,
			.parent = n->key.parent,
			.name = strtab__str(t->strings, n->key.name, NULL),
			.module = strtab__str(t->strings, n->key.module, NULL),
		};

		take(&node, arg);
	}
}

int stacktree__err(const struct stacktree *t)
{
	return t->err;
}
