/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PERF_RECORD_SAMPLE, perf_event_open(2): fields in a fixed order, each there when its bit is in
 * the event's sample_type. */
#ifndef FORMATS_PERFSAMPLE_H
#define FORMATS_PERFSAMPLE_H

#include "formats/item.h"
#include "formats/perfattr.h"

/* Where a rewritten sample differs: offsets from the record's beginning. */
struct perf_sample_cuts {
	size_t chain, chain_end; /* the call chain; equal where it would be */
	size_t stack, stack_end; /* registers and stack; equal: none */
};

/*
 * Takes a sample apart; `chain` has room for ITEM_CHAIN_MAX. False when it does not add up. The
 * kind of the item is set by the caller.
 */
bool perf_sample__parse(const struct perf_attr *, const void *data, size_t sz, uint64_t *chain,
			struct item *);

/* False when it does not add up. */
bool perf_sample__cut(const struct perf_attr *, const void *data, size_t sz,
		      struct perf_sample_cuts *);

#endif
