/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree with its sums, as JSON. A node that is too small to be visible is part of its caller. */
#ifndef STACKSEXPORT_WEB_FLAME_H
#define STACKSEXPORT_WEB_FLAME_H

#include "stacksexport/web/metricsums.h"

/* The largest nodes of a tree. */
struct flame {
	const struct trie *trie;
	int64_t *self, *total;	  /* by node; a caller has the self of its dropped nodes */
	uint32_t *kept, kept_cnt; /* nodes, callers first */
	uint32_t *place;	  /* by node: its place in `kept`; KEYMAP_NONE: dropped */
	uint32_t dropped_cnt;
	int64_t dropped_value;
	void (*more)(const void *arg, struct buf *out); /* appends more fields of nodes; or NULL */
	const void *more_arg;
};

/* Takes the self values, one per node; flame__free() frees them. `limit` is the number of nodes to
 * keep. Returns 0 or -ENOMEM; call flame__free() in either case. */
int flame__init(struct flame *, const struct trie *, struct tree_weights *self, size_t limit);
void flame__free(struct flame *);

/* Appends names, modules and nodes: fields of an object. Must hold the model's lock. Returns 0 or
 * -ENOMEM. */
int flame__show(const struct flame *, const struct metric_shape *, struct buf *out);

/* Appends unit, total and states: fields of the same object. */
void flame__show_head(const struct metric *, int64_t total, struct buf *out);

/* Reads merge and hide. Returns 0 or -EINVAL, with the answer's error. */
int flame__options(const struct web_request *, struct calltree_options *, struct answer *);

/* Reads limit. Returns 0 or -EINVAL, with the answer's error. */
int flame__limit(const struct web_request *, size_t *limit, struct answer *);

/* Appends a flame graph to a buffer. Must hold the model's lock. Returns 0 or -ENOMEM. */
typedef int flame_show_fn(const struct flame *, const struct metric_shape *, struct buf *out);

/* Makes the flame graph of a request, and shows it in a form of its own. Returns 0 or
 * -errno, with the answer's error. */
int flame__draw(struct web_request *, flame_show_fn *, struct answer *);

/* Answers api/flame without `slices`. */
int flame__answer(struct web_request *, struct answer *);

#endif
