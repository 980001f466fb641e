/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One leaf column of one row group in Parquet's form (Dremel): levels, and the values that are not
 * null, made from a batch.
 */
#ifndef STORE_LEAF_H
#define STORE_LEAF_H

#include "store/batch.h"
#include "store/strings.h"

struct leaf {
	const struct column *column;
	const char *list;	       /* name of its list; NULL: none */
	const struct strings *strings; /* borrowed; the strings for the ids of a string column */
	bool sorted;		       /* values never decrease */
	uint32_t max_def, max_rep;
	uint64_t *values; /* not null, widened like batch__values() */
	size_t value_cnt;
	uint32_t *defs, *reps; /* level_cnt of each; undefined if the maximum is 0 */
	size_t level_cnt;      /* values, nulls and empty lists */
	size_t cap;	       /* of the three arrays */
};

static inline size_t leaf__null_cnt(const struct leaf *l)
{
	return l->level_cnt - l->value_cnt;
}

/* `order` is the list of rows, NULL: unchanged. Only tables without a list are sorted. */
int leaf__from_rows(struct leaf *, const struct batch *, size_t column, const uint32_t *order);
/* Fills the leaf from a column of the batch. Both functions return 0 or -ENOMEM, and reuse the
 * arrays. */
int leaf__from_list(struct leaf *, const struct batch *, size_t column);
void leaf__free(struct leaf *); /* frees its arrays */

/* Compares values: < 0, 0, > 0. Unsigned numbers by magnitude, strings by bytes. */
int leaf__cmp(const struct leaf *, uint64_t a, uint64_t b);
/* Returns the string of a value. */
struct string leaf__string(const struct leaf *, uint64_t value);

#endif
