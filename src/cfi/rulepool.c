// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/rulepool.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/seed.h"

void rule_pool__clear(struct rule_pool *b)
{
	for (size_t i = 0; i < b->cnt; i++)
		free(b->rules[i]);
	hashindex__clear(&b->index);
	b->cnt = b->bytes = 0;
}

void rule_pool__free(struct rule_pool *b)
{
	rule_pool__clear(b);
	free(b->rules);
	hashindex__free(&b->index);
	*b = (struct rule_pool){ 0 };
}

bool rule_pool__full(const struct rule_pool *b)
{
	return b->cnt == RULE_POOL_MAX || b->bytes > RULE_POOL_BYTES_MAX;
}

static bool rulepool_is_equal(const struct full_rule *a, const struct full_rule *b)
{
	return a->sz == b->sz && memcmp(a, b, a->sz) == 0;
}

static bool rulepool_make_room(struct rule_pool *b)
{
	struct full_rule **rules = array__room(b->rules, b->cnt, &b->cap, sizeof(*rules));

	if (rules)
		b->rules = rules;
	return rules;
}

uint16_t rule_pool__add(struct rule_pool *b, const struct full_rule *rule)
{
	uint64_t hash = XXH3_64bits_withSeed(rule, rule->sz, seed__get());
	uint32_t number = HASHINDEX_FIND(&b->index, hash, i, rulepool_is_equal(b->rules[i], rule));
	struct full_rule *copy;

	if (number != HASHINDEX_NONE)
		return (uint16_t)(number + 1);
	if (rule_pool__full(b) || !rulepool_make_room(b))
		return 0;
	copy = malloc(rule->sz);
	if (!copy || hashindex__add(&b->index, hash, (uint32_t)b->cnt) != 0) {
		free(copy);
		return 0;
	}
	memcpy(copy, rule, rule->sz);
	b->bytes += rule->sz;
	b->rules[b->cnt++] = copy;
	return (uint16_t)b->cnt;
}
