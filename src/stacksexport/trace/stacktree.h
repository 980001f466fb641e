/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a trace as a tree of frames. Each frame has its caller as parent, and stacks share
 * their callers from the root on. Errors are sticky: see stacktree__err(). */
#ifndef STACKSEXPORT_TRACE_STACKTREE_H
#define STACKSEXPORT_TRACE_STACKTREE_H

#include "pprof/binary.h"
#include "stacksexport/duck/frames.h"

struct stacktree;

/* Borrows the binaries. Returns NULL and sets errno on failure. */
struct stacktree *stacktree__new(struct binaries *);
void stacktree__free(struct stacktree *);

/* Adds a stack: its frames, leaf first, then the key by which events refer to it. Ignores a stack
 * without frames. */
void stacktree__frame(struct stacktree *, const struct named_frame *);
void stacktree__stack(struct stacktree *, uint64_t key);

/* One stack; borrowed from the tree. */
struct stacktree_stack {
	uint32_t leaf;	   /* the node of its innermost frame */
	const char *names; /* of its frames, leaf first, as a JSON array */
	size_t names_sz;
};

/* Returns false if there is no stack with that key. */
bool stacktree__find(const struct stacktree *, uint64_t key, struct stacktree_stack *);
size_t stacktree__stack_cnt(const struct stacktree *);

/* One frame of the tree; texts are NUL-terminated, borrowed, and not escaped. */
struct stacktree_node {
	uint32_t id, parent; /* ids count from 1, callers first; parent 0: a root */
	const char *name, *module;
};

void stacktree__each(const struct stacktree *,
		     void (*take)(const struct stacktree_node *, void *arg), void *arg);

int stacktree__err(const struct stacktree *); /* returns 0 or -ENOMEM */

#endif
