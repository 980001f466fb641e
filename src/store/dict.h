/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distinct values of a leaf, sorted, and each value's place among them. */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "store/leaf.h"

struct dict {
	uint64_t *keys; /* distinct values, ascending by leaf__cmp() */
	uint32_t cnt;
	uint32_t *idx; /* per value of the leaf: its place in keys */
	/* private: */
	uint32_t *slots; /* key number + 1, 0 = free; direct: of the key slot + min, else a hash
			    table with a power of two */
	uint32_t *ranks;
	size_t key_cap, slot_cnt, slot_cap, idx_cap, rank_cap;
	bool direct;
	uint64_t min;
};

/*
 * 1 when it is made, 0 when the leaf has so many distinct values that a dictionary is no use, or
 * -ENOMEM. The memory is reused by the next call.
 */
int dict__build(struct dict *, const struct leaf *);
void dict__free(struct dict *); /* its arrays */

#endif
