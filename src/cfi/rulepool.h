/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distinct rules of a file, identified by small numbers. */
#ifndef CFI_RULEPOOL_H
#define CFI_RULEPOOL_H

#include "base/hashindex.h"
#include "cfi/fullrule.h"

#define RULE_POOL_MAX	    8191       /* rules; a large compiler's file has 2,000 */
#define RULE_POOL_BYTES_MAX (4u << 20) /* of all rules: expressions can be large */

struct rule_pool {
	struct full_rule **rules; /* rule N is rules[N - 1] */
	size_t cnt, cap, bytes;
	struct hashindex index;
};

void rule_pool__free(struct rule_pool *);
void rule_pool__clear(struct rule_pool *);
/* Returns the number of a rule equal to the given one, which is added if it is new. Returns 0 if
 * memory is short or the pool is full. */
uint16_t rule_pool__add(struct rule_pool *, const struct full_rule *);
bool rule_pool__full(const struct rule_pool *);

static inline const struct full_rule *rule_pool__get(const struct rule_pool *b, uint16_t id)
{
	return id ? b->rules[id - 1] : NULL;
}

#endif
