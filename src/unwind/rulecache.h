/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Caches the rules of the places that walks visited, for all files. A hit does not touch the file.
 */
#ifndef UNWIND_RULECACHE_H
#define UNWIND_RULECACHE_H

#include "process/process.h"
#include "cfi/packedrule.h"
#include "cfi/tablestore.h"

struct cached_rule {
	uint64_t key; /* see rule_key(); 0: free */
	struct packed_rule rule;
};

#define RULE_CACHE_BITS 15 /* 512 KB: stays in the second-level cache */
#define RULE_OFF_BITS	40 /* width of a file offset in the key; rules past it are not cached */

#define RULE_CACHE_LINE 4 /* rules per cache line */

struct rule_cache {
	struct table_store *tables;
	_Alignas(64) struct cached_rule rules[1 << RULE_CACHE_BITS];
};

/* Returns the key of offset 0 of the file; add an offset below 1 << RULE_OFF_BITS to it. */
static inline uint64_t rule_key(const struct table_slot *slot)
{
	return slot->id << RULE_OFF_BITS;
}

/* Returns the first slot to check for this key. It may hold another key. */
static inline struct cached_rule *rule_cache__place(struct rule_cache *c, uint64_t key)
{
	return &c->rules[(key * 0x9e3779b97f4a7c15u) >> (64 - RULE_CACHE_BITS)];
}

/* Returns the rule at an offset of a file, and caches it under `key`. Returns NULL if there is no
 * table or it is not loaded yet. */
struct cached_rule *rule_cache__load(struct rule_cache *, struct elf_file *, uint64_t off,
				     uint64_t key);

/* Returns the rule of a place in a mapping, or NULL as above. Requests the file's table. */
struct cached_rule *rule_cache__find(struct rule_cache *, const struct mapping *, uint64_t place);

#endif
