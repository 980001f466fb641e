/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of places that walks went through, of all files. Found without a look at the file. */
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
#define RULE_OFF_BITS	40 /* of a file offset whose rule is cached */

#define RULE_CACHE_LINE 4 /* of them are in a cache line */

struct rule_cache {
	struct table_store *tables;
	_Alignas(64) struct cached_rule rules[1 << RULE_CACHE_BITS];
};

/* An offset of a file may be added. */
static inline uint64_t rule_key(const struct table_slot *slot)
{
	return slot->id << RULE_OFF_BITS;
}

/* Where the rule is kept, if it is. */
static inline struct cached_rule *rule_cache__place(struct rule_cache *c, uint64_t key)
{
	return &c->rules[(key * 0x9e3779b97f4a7c15u) >> (64 - RULE_CACHE_BITS)];
}

/* The rule at an offset of a file; `key` is its. NULL: there is none, or not yet. */
struct cached_rule *rule_cache__bring(struct rule_cache *, struct elf_file *, uint64_t off,
				      uint64_t key);

/* The rule of a place in a mapping. NULL: there is none, or not yet; asks for the file's table. */
struct cached_rule *rule_cache__find(struct rule_cache *, const struct mapping *, uint64_t place);

#endif
