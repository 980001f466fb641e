// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/idset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 4096

int idset__init(struct idset *s)
{
	*s = (struct idset){ .mask = SLOTS_MIN - 1 };
	s->slots = calloc(SLOTS_MIN, sizeof(*s->slots));
	return s->slots ? 0 : -ENOMEM;
}

void idset__free(struct idset *s)
{
	free(s->slots);
	s->slots = NULL;
}

/* Halves the memory if the ids took less than an eighth of the slots. Returns false if it did not.
 */
static bool idset_shrink(struct idset *s)
{
	size_t half = (s->mask + 1) / 2;
	uint64_t *slots =
		half >= SLOTS_MIN && s->cnt < half / 4 ? calloc(half, sizeof(*slots)) : NULL;

	if (!slots)
		return false;
	free(s->slots);
	s->slots = slots;
	s->mask = half - 1;
	return true;
}

void idset__clear(struct idset *s)
{
	if (!idset_shrink(s))
		memset(s->slots, 0, (s->mask + 1) * sizeof(*s->slots));
	s->cnt = 0;
	s->zero = false;
}

static int idset_grow(struct idset *s)
{
	struct idset bigger = { .mask = 2 * s->mask + 1 };

	bigger.slots = calloc(bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i <= s->mask; i++)
		if (s->slots[i])
			bigger.slots[idset__slot(&bigger, s->slots[i])] = s->slots[i];
	free(s->slots);
	s->slots = bigger.slots;
	s->mask = bigger.mask;
	return 0;
}

int idset__add(struct idset *s, uint64_t id)
{
	size_t i;

	if (!id) {
		s->zero = true;
		return 0;
	}
	if (2 * s->cnt > s->mask && idset_grow(s) != 0)
		return -ENOMEM;
	i = idset__slot(s, id);
	s->cnt += s->slots[i] == 0;
	s->slots[i] = id;
	return 0;
}
