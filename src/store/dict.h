/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sorted distinct values of a leaf, and the index of each value among them. */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "store/leaf.h"

struct dict {
	uint64_t *keys; /* distinct values, ascending by leaf__cmp() */
	uint32_t cnt;
	uint32_t *idx; /* for each value of the leaf: its index in keys */
	/* private: */
	/* Key number + 1, 0: free. If `direct`, the slot of a key is key - min; otherwise this is a
	 * hash table with a power of two of slots. It is not base/hashindex.h because each leaf
	 * starts with few slots in the memory of the largest leaf before: clearing is cheap. */
	uint32_t *slots;
	uint32_t *ranks;
	size_t key_cap, slot_cnt, slot_cap, idx_cap, rank_cap;
	bool direct;
	uint64_t min;
};

/*
 * Returns 1 if a dictionary was built, 0 if the leaf has too many distinct values for one, or
 * -ENOMEM. The next call reuses the memory.
 */
int dict__build(struct dict *, const struct leaf *);
void dict__free(struct dict *); /* frees its arrays */

#endif
