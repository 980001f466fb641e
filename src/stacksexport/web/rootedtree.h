/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of a metric as a tree with a root for each process, thread, span and so on. It has only
 * the nodes that are large enough to be shown, because thousands of processes share most stacks. */
#ifndef STACKSEXPORT_WEB_ROOTEDTREE_H
#define STACKSEXPORT_WEB_ROOTEDTREE_H

#include "stacksexport/web/metricsums.h"

struct rooted_tree {
	struct trie trie;
	struct tree_weights values; /* own values; a caller has those of its dropped nodes */
	uint32_t dropped_cnt;
	int64_t dropped_value;
};

/* Must hold the model's lock. Returns 0 or -ENOMEM; call rooted_tree__free() in either case. */
int rooted_tree__build(struct rooted_tree *, const struct metric_shape *, struct metric_rows *);
void rooted_tree__free(struct rooted_tree *);

#endif
