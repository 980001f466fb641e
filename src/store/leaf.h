/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leaf column of one row group as Parquet sees it (Dremel): levels and the values that are not
 * null, made from a batch.
 */
#ifndef STORE_LEAF_H
#define STORE_LEAF_H

#include "store/batch.h"
#include "store/strings.h"

struct leaf {
	const struct column *column;
	const char *list;	       /* name of the list that it is in, NULL: none */
	const struct strings *strings; /* borrowed; what the ids of a string column mean */
	bool sorted;		       /* values never fall */
	uint32_t max_def, max_rep;
	uint64_t *values; /* not null, widened as batch__value() does */
	size_t value_cnt;
	uint32_t *defs, *reps; /* level_cnt of each; meaningless where the maximum is 0 */
	size_t level_cnt;      /* values, nulls and empty lists */
	size_t cap;	       /* of the three arrays */
};

static inline size_t leaf__null_cnt(const struct leaf *l)
{
	return l->level_cnt - l->value_cnt;
}

/* order: the row that comes i-th, NULL: as they are. Only tables without a list are sorted. */
int leaf__from_rows(struct leaf *, const struct batch *, size_t column, const uint32_t *order);
/* From a column of the batch's list. Both: 0 or -ENOMEM; the arrays are reused. */
int leaf__from_list(struct leaf *, const struct batch *, size_t column);
void leaf__free(struct leaf *); /* its arrays */

/* The order of values: < 0, 0, > 0. Unsigned by magnitude, strings by bytes. */
int leaf__cmp(const struct leaf *, uint64_t a, uint64_t b);
/* The string that a value means. */
struct string leaf__string(const struct leaf *, uint64_t value);

#endif
