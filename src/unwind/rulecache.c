// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rulecache.h"

static bool is_special(struct packed_rule r)
{
	return r.fp == PACKED_FP_AT_SELF || r.ra == PACKED_RA_LINKED;
}

/* Rules that want the same place share the cache line that it is in. How many come before the one
 * with the key; RULE_CACHE_LINE: it is not there. */
static size_t find(const struct cached_rule *rules, size_t at, uint64_t key)
{
	size_t n = 0;

	while (n < RULE_CACHE_LINE && rules[at ^ n].key != key)
		n++;
	return n;
}

static struct cached_rule *move_to_front(struct cached_rule *rules, size_t at, size_t n)
{
	struct cached_rule found = rules[at ^ n];

	for (; n > 0; n--)
		rules[at ^ n] = rules[at ^ (n - 1)];
	rules[at] = found;
	return &rules[at];
}

/* A new one is the last of its line until it is asked for again: most places are met only once. */
struct cached_rule *rule_cache__bring(struct rule_cache *cache, struct elf_file *file, uint64_t off,
				      uint64_t key)
{
	size_t at = (size_t)(rule_cache__place(cache, key) - cache->rules);
	size_t n = find(cache->rules, at, key);
	struct cached_rule found = { .key = off >> RULE_OFF_BITS ? 0 : key }, *last;

	if (n < RULE_CACHE_LINE)
		return move_to_front(cache->rules, at, n);
	if (!table_store__rule(cache->tables, file, off, &found.rule))
		return NULL;
	found.rule.flags |= is_special(found.rule) ? PACKED_SPECIAL : 0;
	last = &cache->rules[at ^ (RULE_CACHE_LINE - 1)];
	*last = found;
	return last;
}

struct cached_rule *rule_cache__find(struct rule_cache *cache, const struct mapping *m,
				     uint64_t place)
{
	const struct table_slot *slot =
		m && m->file ? table_store__of(cache->tables, m->file) : NULL;
	uint64_t off = slot ? place - m->start + m->pgoff : 0;

	if (!slot || off >> RULE_OFF_BITS) /* it would be another file's key */
		return NULL;
	return rule_cache__bring(cache, m->file, off, rule_key(slot) + off);
}
