/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges that nest or overlap, flattened: one binary search says which is innermost. */
#ifndef BASE_RANGEMAP_H
#define BASE_RANGEMAP_H

#include <stddef.h>
#include <stdint.h>

#define RANGE_NONE UINT32_MAX

struct addr_range {
	uint64_t start, end; /* addresses; end is exclusive */
	uint32_t owner;	     /* what the range belongs to; not RANGE_NONE */
};

/* From starts[i] to starts[i + 1] the innermost range is that of owners[i], RANGE_NONE in a gap. */
struct range_map {
	uint64_t *starts;
	uint32_t *owners;
	size_t cnt;
};

/*
 * Fills an empty map; sorts `spans`. Innermost is the range that starts last, of those the
 * shortest, of equal ones that with the highest owner. 0 or -ENOMEM; the map can be freed either
 * way.
 */
int range_map__build(struct range_map *, struct addr_range *spans, size_t cnt);
void range_map__free(struct range_map *);
uint32_t range_map__find(const struct range_map *, uint64_t addr);

#endif
