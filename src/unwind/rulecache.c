// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rulecache.h"

static bool is_special(struct flat_rule r)
{
	return r.fp == FLAT_FP_AT_SELF || r.ra == FLAT_RA_LINKED;
}

/* Two rules that want the same place share it and the one beside it. */
bool rule_cache__bring(struct rule_cache *cache, struct elf_file *file, uint64_t off, uint64_t key)
{
	struct cached_rule *c = rule_cache__place(cache, key);
	struct cached_rule *beside = &cache->rules[(size_t)(c - cache->rules) ^ 1];
	struct cached_rule old = *c, found = *beside;

	if (old.key == key)
		return true;
	if (found.key != key) {
		found.key = off >> RULE_OFF_BITS ? 0 : key;
		if (!tables__rule(cache->tables, file, off, &found.rule))
			return false;
		found.rule.flags |= is_special(found.rule) ? FLAT_SPECIAL : 0;
	}
	*c = found;
	*beside = old;
	return true;
}

struct cached_rule *rule_cache__find(struct rule_cache *cache, const struct mapping *m,
				     uint64_t place)
{
	const struct table_slot *slot = m && m->file ? tables__of(cache->tables, m->file) : NULL;
	uint64_t off, key;

	if (!slot)
		return NULL;
	off = place - m->start + m->pgoff;
	key = rule_key(slot) + off;
	return rule_cache__bring(cache, m->file, off, key) ? rule_cache__place(cache, key) : NULL;
}
