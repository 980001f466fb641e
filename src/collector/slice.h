/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-CPU slices, and how a minimum (`switch::10ms`) joins them. A slice that is followed by an
 * off-CPU interval shorter than the minimum is joined with the next slice. The duration then covers
 * both and the gap; gaps and runnable times add up; state and stacks are those of the last slice.
 * Every sum stays exact.
 */
#ifndef COLLECTOR_SLICE_H
#define COLLECTOR_SLICE_H

#include <stdbool.h>

#include "event/record.h"
#include "event/trace.h"

/* An event with identified stacks. A row is made from it. */
struct resolved_event {
	struct event event;				      /* the fixed part only */
	uint64_t detail[EVENT_DETAIL_MAX / sizeof(uint64_t)]; /* event.detail_sz bytes of it */
	uint64_t ustack_id, kstack_id;			      /* 0: none */
	enum unwind_status unwind;			      /* with a ustack_id */
	uint64_t gaps_ns;
};

/*
 * Joins `before` and the gap to `s`, both of one thread, if the gap is shorter than min_ns. Returns
 * false otherwise: `before` is then a row of its own.
 */
bool slice__join(struct resolved_event *s, const struct resolved_event *before, uint64_t min_ns);

#endif
