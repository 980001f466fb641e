// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/order.h"

#include <errno.h>
#include <stdlib.h>

struct keyed {
	uint64_t key; /* minus the smallest */
	uint32_t row;
};

static bool order_is_sorted(const int64_t *times, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (times[i - 1] > times[i])
			return false;
	return true;
}

/* One pass of a stable radix sort, by 8 bits from `shift` on. */
static void order_pass(const struct keyed *from, struct keyed *to, size_t cnt, unsigned shift)
{
	size_t starts[257] = { 0 };

	for (size_t i = 0; i < cnt; i++)
		starts[(from[i].key >> shift & 0xff) + 1]++;
	for (size_t d = 0; d < 256; d++)
		starts[d + 1] += starts[d];
	for (size_t i = 0; i < cnt; i++)
		to[starts[from[i].key >> shift & 0xff]++] = from[i];
}

/* Fills the keys and returns the largest one. */
static uint64_t order_load_keys(const int64_t *times, size_t cnt, struct keyed *keys)
{
	int64_t min = INT64_MAX;
	uint64_t max = 0;

	for (size_t i = 0; i < cnt; i++)
		min = times[i] < min ? times[i] : min;
	for (size_t i = 0; i < cnt; i++) {
		keys[i] = (struct keyed){ (uint64_t)times[i] - (uint64_t)min, (uint32_t)i };
		max = keys[i].key > max ? keys[i].key : max;
	}
	return max;
}

uint32_t *batch__order(const struct batch *b, int *err)
{
	const int64_t *times = b->vectors[0].data; /* NULL: all are 0 */
	struct keyed *keys, *from, *to;
	uint32_t *order;
	uint64_t max;

	*err = 0;
	if (!times || order_is_sorted(times, b->cnt))
		return NULL;
	keys = calloc(2 * b->cnt, sizeof(*keys));
	order = calloc(b->cnt, sizeof(*order));
	if (!keys || !order) {
		free(keys);
		free(order);
		return *err = -ENOMEM, NULL;
	}
	max = order_load_keys(times, b->cnt, keys);
	from = keys;
	to = keys + b->cnt;
	for (unsigned shift = 0; shift < 64 && max >> shift; shift += 8) {
		struct keyed *swap = from;

		order_pass(from, to, b->cnt, shift);
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < b->cnt; i++)
		order[i] = from[i].row;
	free(keys);
	return order;
}
