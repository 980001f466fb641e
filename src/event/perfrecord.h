/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the perf_event_open(2) ABI about processes. */
#ifndef EVENT_PERFRECORD_H
#define EVENT_PERFRECORD_H

#include "event/record.h"

/* The parser expects this sample_type, by sample_id_all, at the end of each record. */
#define PERFRECORD_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/*
 * Parses one record of `sz` bytes, with its header, into *out, which borrows from it. Returns false
 * for other types and malformed records.
 */
bool perfrecord__parse(const void *data, size_t sz, struct record *out);

/* The part between a record's header and its sample id; type and misc are the header's. */
struct perfrecord_body {
	uint32_t type;
	uint16_t misc;
	const uint8_t *data;
	size_t sz;
};

/* Like perfrecord__parse(), for callers that know time and CPU: leaves these two fields unchanged.
 */
bool perfrecord__parse_body(const struct perfrecord_body *, struct record *out);

#endif
