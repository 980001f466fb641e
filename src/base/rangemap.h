/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nested or overlapping address ranges, flattened: one binary search finds the innermost range. */
#ifndef BASE_RANGEMAP_H
#define BASE_RANGEMAP_H

#include <stddef.h>
#include <stdint.h>

#define RANGE_NONE UINT32_MAX

struct addr_range {
	uint64_t start, end; /* addresses; end is exclusive */
	uint32_t owner;	     /* an id of the caller; not RANGE_NONE */
};

/* From starts[i] to starts[i + 1], the innermost range is the one with the number owners[i];
 * RANGE_NONE in a gap. */
struct range_map {
	uint64_t *starts;
	uint32_t *owners;
	size_t cnt;
};

/*
 * Fills an empty map; sorts `spans`. The innermost range is the one that starts last, then the
 * shortest, then the one with the highest owner. Returns 0 or -ENOMEM; the map can be freed in both
 * cases.
 */
int range_map__build(struct range_map *, struct addr_range *spans, size_t cnt);
void range_map__free(struct range_map *);
uint32_t range_map__find(const struct range_map *, uint64_t addr);

#endif
