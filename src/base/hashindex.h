/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash table of arrays: finds the number of an element that its owner keeps in an array. The
 * slots keep the hashes, so that the index grows and removes without the owner's keys.
 */
#ifndef BASE_HASHINDEX_H
#define BASE_HASHINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHINDEX_NONE UINT32_MAX

struct hashindex_slot {
	uint32_t hash;
	uint32_t number; /* of the element, + 1; 0: a free slot */
};

/* Zeroed is empty. */
struct hashindex {
	struct hashindex_slot *slots; /* open addressing, at most half in use */
	uint32_t mask;		      /* number of slots - 1; they are a power of two */
	uint32_t cnt;
};

void hashindex__free(struct hashindex *);
void hashindex__clear(struct hashindex *); /* keeps the memory */

/*
 * Adds an element that is absent. The hash must have a seed (base/seed.h) if other processes choose
 * the keys. Returns 0, or -ENOMEM with the index unchanged.
 */
int hashindex__add(struct hashindex *, uint64_t hash, uint32_t number);
void hashindex__remove(struct hashindex *, uint64_t hash, uint32_t number); /* must be present */
size_t hashindex__sz(const struct hashindex *);				    /* bytes of memory */

/*
 * Returns the number of the element for which `is_found` is true, among those with this hash, or
 * HASHINDEX_NONE. The condition reads the number `i`:
 * HASHINDEX_FIND(&index, seed__mix(key), i, keys[i] == key).
 */
#define HASHINDEX_FIND(index, hash, i, is_found)                                            \
	({                                                                                  \
		const struct hashindex *find_index = (index);                               \
		uint32_t find_hash = (uint32_t)(hash), find_at = find_hash, i;              \
                                                                                            \
		while (hashindex__next(find_index, find_hash, &find_at, &i) && !(is_found)) \
			;                                                                   \
		i;                                                                          \
	})

/* Private: sets *number to the number of the next element with the hash, from slot *at on. Returns
 * false, with HASHINDEX_NONE, if there is no more. */
static inline bool hashindex__next(const struct hashindex *x, uint32_t hash, uint32_t *at,
				   uint32_t *number)
{
	*number = HASHINDEX_NONE;
	while (x->slots) {
		const struct hashindex_slot *s = &x->slots[(*at)++ & x->mask];

		if (!s->number)
			return false;
		if (s->hash == hash) {
			*number = s->number - 1;
			return true;
		}
	}
	return false;
}

#endif
