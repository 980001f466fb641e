// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/rulepool.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/seed.h"

void rule_pool__clear(struct rule_pool *b)
{
	for (size_t i = 1; i <= b->cnt; i++)
		free(b->rules[i]);
	if (b->index)
		memset(b->index, 0, 2 * b->cap * sizeof(*b->index));
	b->cnt = b->bytes = 0;
}

void rule_pool__free(struct rule_pool *b)
{
	rule_pool__clear(b);
	free(b->rules);
	free(b->index);
	*b = (struct rule_pool){ 0 };
}

bool rule_pool__full(const struct rule_pool *b)
{
	return b->cnt == RULE_POOL_MAX || b->bytes > RULE_POOL_BYTES_MAX;
}

/* Returns the slot with the number of an equal rule, or the free slot for it. */
static uint16_t *place(const struct rule_pool *b, const struct full_rule *rule)
{
	size_t i = XXH3_64bits_withSeed(rule, rule->sz, seed__get()), mask = 2 * b->cap - 1;

	for (; b->index[i & mask]; i++) {
		const struct full_rule *r = b->rules[b->index[i & mask]];

		if (r->sz == rule->sz && memcmp(r, rule, rule->sz) == 0)
			break;
	}
	return &b->index[i & mask];
}

static bool grow(struct rule_pool *b)
{
	size_t cap = b->cap ? b->cap * 2 : 16;
	struct full_rule **rules = reallocarray(b->rules, cap + 1, sizeof(*rules));
	uint16_t *index = calloc(2 * cap, sizeof(*index));

	if (rules)
		b->rules = rules;
	if (!rules || !index) {
		free(index);
		return false;
	}
	free(b->index);
	b->index = index;
	b->cap = cap;
	for (size_t i = 1; i <= b->cnt; i++)
		*place(b, b->rules[i]) = (uint16_t)i;
	return true;
}

uint16_t rule_pool__add(struct rule_pool *b, const struct full_rule *rule)
{
	uint16_t *at;
	struct full_rule *copy;

	if (rule_pool__full(b) || (b->cnt == b->cap && !grow(b)))
		return 0;
	at = place(b, rule);
	if (*at)
		return *at;
	copy = malloc(rule->sz);
	if (!copy)
		return 0;
	memcpy(copy, rule, rule->sz);
	b->bytes += rule->sz;
	b->rules[++b->cnt] = copy;
	return *at = (uint16_t)b->cnt;
}
