// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/order.h"

#include <errno.h>
#include <stdlib.h>

struct keyed {
	uint64_t key; /* less the smallest */
	uint32_t row;
};

static bool is_sorted(const struct batch *b)
{
	for (size_t i = 1; i < b->cnt; i++)
		if ((int64_t)batch__value(b, 0, i - 1) > (int64_t)batch__value(b, 0, i))
			return false;
	return true;
}

/* One pass of a stable radix sort, by the 8 bits from shift on. */
static void pass(const struct keyed *from, struct keyed *to, size_t cnt, unsigned shift)
{
	size_t starts[257] = { 0 };

	for (size_t i = 0; i < cnt; i++)
		starts[(from[i].key >> shift & 0xff) + 1]++;
	for (size_t d = 0; d < 256; d++)
		starts[d + 1] += starts[d];
	for (size_t i = 0; i < cnt; i++)
		to[starts[from[i].key >> shift & 0xff]++] = from[i];
}

static uint64_t load_keys(const struct batch *b, struct keyed *keys)
{
	int64_t min = INT64_MAX;
	uint64_t max = 0;

	for (size_t i = 0; i < b->cnt; i++)
		if ((int64_t)batch__value(b, 0, i) < min)
			min = (int64_t)batch__value(b, 0, i);
	for (size_t i = 0; i < b->cnt; i++) {
		keys[i] = (struct keyed){ batch__value(b, 0, i) - (uint64_t)min, (uint32_t)i };
		if (keys[i].key > max)
			max = keys[i].key;
	}
	return max;
}

uint32_t *batch__order(const struct batch *b, int *err)
{
	struct keyed *keys, *from, *to;
	uint32_t *order;
	uint64_t max;

	*err = 0;
	if (is_sorted(b))
		return NULL;
	keys = calloc(2 * b->cnt, sizeof(*keys));
	order = calloc(b->cnt, sizeof(*order));
	if (!keys || !order) {
		free(keys);
		free(order);
		return *err = -ENOMEM, NULL;
	}
	max = load_keys(b, keys);
	from = keys;
	to = keys + b->cnt;
	for (unsigned shift = 0; shift < 64 && max >> shift; shift += 8) {
		struct keyed *swap = from;

		pass(from, to, b->cnt, shift);
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < b->cnt; i++)
		order[i] = from[i].row;
	free(keys);
	return order;
}
