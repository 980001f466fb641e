/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of 64-bit hashes, looked up once per event. The slots have the hashes themselves: a look-up
 * reads one cache line, with base/hashindex.h it would read two.
 */
#ifndef STORE_IDSET_H
#define STORE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/seed.h"

struct idset {
	uint64_t *slots; /* open addressing, 0: free; a power of two, at most half full */
	size_t mask, cnt;
	bool zero; /* the set has the id 0 */
};

int idset__init(struct idset *); /* 0 or -ENOMEM */
void idset__free(struct idset *);
void idset__clear(struct idset *); /* keeps the memory, or half of it if it was mostly free */
int idset__add(struct idset *, uint64_t id); /* 0 or -ENOMEM */

static inline size_t idset__sz(const struct idset *s)
{
	return (s->mask + 1) * sizeof(*s->slots);
}

static inline size_t idset__slot(const struct idset *s, uint64_t id)
{
	size_t i = seed__mix(id) & s->mask;

	while (s->slots[i] && s->slots[i] != id)
		i = (i + 1) & s->mask;
	return i;
}

static inline bool idset__has(const struct idset *s, uint64_t id)
{
	return id ? s->slots[idset__slot(s, id)] == id : s->zero;
}

#endif
