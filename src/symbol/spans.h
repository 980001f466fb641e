/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges that nest or overlap, flattened: one binary search says which is innermost. */
#ifndef SYMBOL_SPANS_H
#define SYMBOL_SPANS_H

#include <stddef.h>
#include <stdint.h>

#define SPAN_NONE UINT32_MAX

struct span {
	uint64_t start, end; /* addresses; end is exclusive */
	uint32_t owner;	     /* what the range belongs to; not SPAN_NONE */
};

/* From starts[i] to starts[i + 1] the innermost range is that of owners[i], SPAN_NONE in a gap. */
struct span_map {
	uint64_t *starts;
	uint32_t *owners;
	size_t cnt;
};

/*
 * Fills an empty map; sorts `spans`. Innermost is the range that starts last, of those the
 * shortest, of equal ones that with the highest owner. 0 or -ENOMEM; the map can be freed either
 * way.
 */
int span_map__build(struct span_map *, struct span *spans, size_t cnt);
void span_map__free(struct span_map *);
uint32_t span_map__find(const struct span_map *, uint64_t addr);

#endif
