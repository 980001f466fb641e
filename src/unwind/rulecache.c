// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rulecache.h"

static bool rule_is_special(struct packed_rule r)
{
	return r.fp == PACKED_FP_AT_SELF || r.ra == PACKED_RA_LINKED;
}

/* Returns the position of the key in its cache line, or RULE_CACHE_LINE if it is absent. Rules that
 * hash to the same slot share its cache line. */
static size_t rule_line_find(const struct cached_rule *rules, size_t at, uint64_t key)
{
	size_t n = 0;

	while (n < RULE_CACHE_LINE && rules[at ^ n].key != key)
		n++;
	return n;
}

static struct cached_rule *rule_line_move_to_front(struct cached_rule *rules, size_t at, size_t n)
{
	struct cached_rule found = rules[at ^ n];

	for (; n > 0; n--)
		rules[at ^ n] = rules[at ^ (n - 1)];
	rules[at] = found;
	return &rules[at];
}

/* Inserts a new rule at the end of its line and moves it to the front on the next hit: most places
 * are visited only once. */
struct cached_rule *rule_cache__load(struct rule_cache *cache, struct elf_file *file, uint64_t off,
				     uint64_t key)
{
	size_t at = (size_t)(rule_cache__place(cache, key) - cache->rules);
	size_t n = rule_line_find(cache->rules, at, key);
	struct cached_rule found = { .key = off >> RULE_OFF_BITS ? 0 : key }, *last;

	if (n < RULE_CACHE_LINE)
		return rule_line_move_to_front(cache->rules, at, n);
	if (!table_store__rule(cache->tables, file, off, &found.rule))
		return NULL;
	found.rule.flags |= rule_is_special(found.rule) ? PACKED_SPECIAL : 0;
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

	if (!slot || off >> RULE_OFF_BITS) /* the key would collide with another file's */
		return NULL;
	return rule_cache__load(cache, m->file, off, rule_key(slot) + off);
}
