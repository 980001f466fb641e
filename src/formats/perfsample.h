/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PERF_RECORD_SAMPLE, perf_event_open(2): fields in a fixed order, each there when its bit is in
 * the event's sample_type. */
#ifndef FORMATS_PERFSAMPLE_H
#define FORMATS_PERFSAMPLE_H

#include "formats/item.h"
#include "formats/perfattr.h"

/*
 * Takes a sample apart; `chain` has room for ITEM_CHAIN_MAX. False when it does not add up. The
 * kind of the item is set by the caller.
 */
bool perf_sample__parse(const struct perf_attr *, const void *data, size_t sz, uint64_t *chain,
			struct item *);

#endif
