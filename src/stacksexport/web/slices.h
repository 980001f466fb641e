/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a flame graph's nodes by slices of time: for the time selection of a report, and
 * for differences. */
#ifndef STACKSEXPORT_WEB_SLICES_H
#define STACKSEXPORT_WEB_SLICES_H

#include "stacksexport/web/flame.h"

/* One value per slice for each kept node of a flame graph: values[node * cnt + slice]. */
struct slices {
	int64_t *values;
	size_t node_cnt, cnt;
};

/* The label of a row is its slice, from 1 on. Returns 0 or -ENOMEM; call slices__free() in either
 * case. */
int slices__init(struct slices *, const struct flame *, const struct metric_list *, size_t cnt);
void slices__free(struct slices *);

/* Adds the values of the nodes below a node to its own. */
void slices__sum(struct slices *, const struct flame *);

/* Sets `width` so that `cnt` slices cover the time range of the request, and returns it. */
int64_t slices__width(struct web_request *, size_t cnt, char text[24]);

/* Sums up all rows by node. Returns 0 or -ENOMEM. */
int slices__total(const struct metric_list *, const struct trie *, struct tree_weights *);

/* Answers api/flame with the values of each of `slices` slices. */
int slices__answer(struct web_request *, struct answer *);

#endif
