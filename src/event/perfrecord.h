/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the perf_event_open(2) ABI that say what processes do. */
#ifndef EVENT_PERFRECORD_H
#define EVENT_PERFRECORD_H

#include "event/record.h"

/* What the parser expects at the end of each record: sample_id_all with this sample_type. */
#define PERFRECORD_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/*
 * Turns one record of `sz` bytes, header included, into *out, which borrows from it. False when it
 * is of a type that is not wanted, or not well-formed.
 */
bool perfrecord__parse(const void *data, size_t sz, struct record *out);

/* What is between a record's header and its sample id; type and misc are the header's. */
struct perfrecord_body {
	uint32_t type;
	uint16_t misc;
	const uint8_t *data;
	size_t sz;
};

/* Like perfrecord__parse(), if time and CPU are known from elsewhere; leaves these two unchanged.
 */
bool perfrecord__parse_body(const struct perfrecord_body *, struct record *out);

#endif
