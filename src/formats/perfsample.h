/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PERF_RECORD_SAMPLE, see perf_event_open(2). Its fields have a fixed order. Each is present if its
 * bit is set in the sample_type of the event. */
#ifndef FORMATS_PERFSAMPLE_H
#define FORMATS_PERFSAMPLE_H

#include "formats/item.h"
#include "formats/perfattr.h"

/*
 * Parses a sample. Returns false if its sizes are inconsistent. `chain` must have room for
 * ITEM_CHAIN_MAX entries. The caller sets the kind of the item.
 */
bool perf_sample__parse(const struct perf_attr *, const void *data, size_t sz, uint64_t *chain,
			struct item *);

#endif
