/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All stacks of a stackset as one tree of functions. A stack is added at its first request, once.
 * Each request then adds weights to the leaves of its stacks. */
#ifndef STACKSEXPORT_MODEL_CALLTREE_H
#define STACKSEXPORT_MODEL_CALLTREE_H

#include "stacksexport/model/stackset.h"
#include "stacksexport/model/trie.h"

/* What two frames must have in common to be one node. */
enum tree_merge { MERGE_FUNCTION, MERGE_MODULE, MERGE_LINE };

/* Frames that are left out. */
enum tree_hide { HIDE_KERNEL = 1, HIDE_INTERPRETER = 2, HIDE_LIBRARY = 4 };

/* The frames that a stack keeps. WAITING is how `stacksexport top` shows off-CPU time: the user
 * frames, or the kernel's if there are none, from the waiting function on. */
enum tree_shape { SHAPE_FULL, SHAPE_WAITING };

struct calltree_options {
	enum tree_merge merge;
	unsigned hide; /* enum tree_hide */
};

/* The IDs of a stack in the events; 0: none. */
struct tree_stack {
	uint64_t ustack, kstack;
	enum tree_shape shape;
};

struct calltree;

/* Returns NULL with errno set on failure. Borrows the stackset, to which it adds functions. */
struct calltree *calltree__new(struct stackset *, const struct calltree_options *);
void calltree__free(struct calltree *);

/* Returns the node of the stack's innermost frame; [no stack] if it has none. KEYMAP_NONE if out of
 * memory. */
uint32_t calltree__leaf(struct calltree *, const struct tree_stack *);

/* Returns true if a thread that sleeps with this stack waits for work (model/waiting.h). */
bool calltree__waits_for_work(const struct calltree *, const struct tree_stack *);

/* Returns the tree, which grows with each new leaf. */
struct trie *calltree__trie(struct calltree *);
const struct calltree_options *calltree__options(const struct calltree *);

/* Returns, for each node, whether its function is also one of its callers. Returns NULL if out of
 * memory. */
const bool *calltree__recursive(struct calltree *);

/* One value per node of a tree; grows with it. */
struct tree_weights {
	int64_t *values;
	size_t cnt;
};

/* Adds to the value of a node. Returns 0 or -ENOMEM. */
int tree_weights__add(struct tree_weights *, uint32_t node, int64_t value);

/* Makes room for all nodes of the tree, with 0 for those without a value. Returns 0 or -ENOMEM. */
int tree_weights__fit(struct tree_weights *, const struct trie *);
void tree_weights__free(struct tree_weights *);

#endif
