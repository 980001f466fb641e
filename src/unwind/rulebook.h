/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distinct rules of a file, by small numbers. */
#ifndef UNWIND_RULEBOOK_H
#define UNWIND_RULEBOOK_H

#include "unwind/rule.h"

#define RULEBOOK_MAX	   8191	      /* rules; a large compiler has 2,000 */
#define RULEBOOK_BYTES_MAX (4u << 20) /* of all rules: those of expressions can be large */

struct rulebook {
	struct rule **rules; /* 1 … cnt */
	size_t cnt, cap, bytes;
	uint16_t *index; /* 2 * cap slots, open addressing over numbers; 0: free */
};

void rulebook__free(struct rulebook *);
void rulebook__clear(struct rulebook *);
/* The number of an equal rule, new or not; 0 when out of memory or full. */
uint16_t rulebook__add(struct rulebook *, const struct rule *);
bool rulebook__full(const struct rulebook *);

static inline const struct rule *rulebook__get(const struct rulebook *b, uint16_t id)
{
	return id ? b->rules[id] : NULL;
}

#endif
