/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums of a metric as a tree with a root for each process, thread, span and so on. Thousands of
 * processes share most stacks, so that only what is large enough to be shown is in the tree.
 */
#ifndef STACKSEXPORT_WEB_ROOTEDTREE_H
#define STACKSEXPORT_WEB_ROOTEDTREE_H

#include "stacksexport/web/metrics.h"

struct rooted_tree {
	struct trie trie;
	struct tree_weights
		values; /* of the nodes themselves; what is dropped is in the caller's */
	uint32_t dropped_cnt;
	int64_t dropped_value;
};

/* Must hold the model's lock. Returns 0 or -ENOMEM; rooted_tree__free() in either case. */
int rooted_tree__build(struct rooted_tree *, const struct metric_shape *, struct metric_rows *);
void rooted_tree__free(struct rooted_tree *);

#endif
