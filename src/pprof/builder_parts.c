// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that many samples share. Their frames are looked up once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/builder.h"
#include "pprof/builder_private.h"

void builder__keep(struct builder *b, uint64_t stack_id)
{
	struct kept_stack *k = NULL;

	if (!b->err && !buf__err(&b->stack))
		k = calloc(1, sizeof(*k) + b->stack.sz);
	if (!k) {
		b->err = -ENOMEM;
		return;
	}
	k->stack_id = stack_id;
	k->cnt = b->stack.sz / sizeof(uint64_t);
	if (k->cnt)
		memcpy(k->location_ids, b->stack.data, b->stack.sz);
	buf__reset(&b->stack);
	HASH_ADD(hh, b->kept, stack_id, sizeof(k->stack_id), k);
	if (!HASH_ADDED(k)) {
		free(k);
		b->err = -ENOMEM;
	}
}

void builder__kept(struct builder *b, uint64_t stack_id, bool reversed)
{
	struct kept_stack *k;

	HASH_FIND(hh, b->kept, &stack_id, sizeof(stack_id), k);
	if (!k)
		return;
	if (!reversed)
		buf__append(&b->stack, k->location_ids, k->cnt * sizeof(uint64_t));
	for (size_t i = reversed ? k->cnt : 0; i > 0; i--)
		buf__append(&b->stack, &k->location_ids[i - 1], sizeof(uint64_t));
}

bool builder__is_kept(const struct builder *b, uint64_t stack_id)
{
	struct kept_stack *k;

	HASH_FIND(hh, b->kept, &stack_id, sizeof(stack_id), k);
	return k != NULL;
}

void builder__free_kept(struct builder *b)
{
	struct kept_stack *k, *next;

	HASH_ITER (hh, b->kept, k, next) {
		HASH_DEL(b->kept, k);
		free(k);
	}
}
