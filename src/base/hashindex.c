// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hashindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 32u
#define SLOTS_MAX (1u << 31)

static size_t hashindex_slot_cnt(const struct hashindex *x)
{
	return x->slots ? (size_t)x->mask + 1 : 0;
}

void hashindex__free(struct hashindex *x)
{
	free(x->slots);
	*x = (struct hashindex){ 0 };
}

void hashindex__clear(struct hashindex *x)
{
	if (x->cnt)
		memset(x->slots, 0, hashindex__sz(x));
	x->cnt = 0;
}

static void hashindex_put(struct hashindex *x, struct hashindex_slot slot)
{
	uint32_t at = slot.hash & x->mask;

	while (x->slots[at].number)
		at = (at + 1) & x->mask;
	x->slots[at] = slot;
	x->cnt++;
}

static int hashindex_grow(struct hashindex *x)
{
	size_t old_cnt = hashindex_slot_cnt(x), cnt = old_cnt ? 2 * old_cnt : SLOTS_MIN;
	struct hashindex bigger = { .mask = (uint32_t)(cnt - 1) };

	if (cnt <= SLOTS_MAX)
		bigger.slots = calloc(cnt, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < old_cnt; i++)
		if (x->slots[i].number)
			hashindex_put(&bigger, x->slots[i]);
	free(x->slots);
	*x = bigger;
	return 0;
}

int hashindex__add(struct hashindex *x, uint64_t hash, uint32_t number)
{
	if (x->cnt >= hashindex_slot_cnt(x) / 2 && hashindex_grow(x) != 0)
		return -ENOMEM;
	hashindex_put(x, (struct hashindex_slot){ (uint32_t)hash, number + 1 });
	return 0;
}

/* Moves later slots that collided with this one (Knuth, The Art of Computer Programming 3, 6.4,
 * algorithm R). */
void hashindex__remove(struct hashindex *x, uint64_t hash, uint32_t number)
{
	uint32_t hole = (uint32_t)hash & x->mask;

	while (x->slots[hole].number != number + 1)
		hole = (hole + 1) & x->mask;
	for (uint32_t at = (hole + 1) & x->mask; x->slots[at].number; at = (at + 1) & x->mask) {
		uint32_t from_home = (at - x->slots[at].hash) & x->mask;

		if (from_home < ((at - hole) & x->mask))
			continue;
		x->slots[hole] = x->slots[at];
		hole = at;
	}
	x->slots[hole] = (struct hashindex_slot){ 0 };
	x->cnt--;
}

size_t hashindex__sz(const struct hashindex *x)
{
	return hashindex_slot_cnt(x) * sizeof(*x->slots);
}
