/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of functions: stacks share their callers from the root on. */
#ifndef STACKSEXPORT_MODEL_TRIE_H
#define STACKSEXPORT_MODEL_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "stacksexport/model/keymap.h"

#define TRIE_ROOT	0u
#define TRIE_ROOT_LABEL UINT32_MAX /* the function of the root, which is none */

/* Node 0 is the root; a parent comes before its children. Node i + 1 is key i: parent, function. */
struct trie {
	struct keymap children;
};

static inline uint32_t trie__cnt(const struct trie *t)
{
	return t->children.cnt + 1;
}

/* Returns the parent of a node that is not the root. */
static inline uint32_t trie__parent(const struct trie *t, uint32_t node)
{
	return (uint32_t)t->children.keys[node - 1].a;
}

static inline uint32_t trie__function(const struct trie *t, uint32_t node)
{
	return node == TRIE_ROOT ? TRIE_ROOT_LABEL : (uint32_t)t->children.keys[node - 1].b;
}

/* Adds two sums of a recording and stays within the limits of int64_t. */
static inline int64_t trie__add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns the child of that function, which is added if absent; KEYMAP_NONE if out of memory. */
uint32_t trie__child(struct trie *, uint32_t parent, uint32_t function);

/* Sets total[i] = self[i] + the totals of its children, for all nodes. */
void trie__sum(const struct trie *, const int64_t *self, int64_t *total);

void trie__free(struct trie *);

#endif
