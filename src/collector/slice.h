/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-CPU slices and how a minimum (`switch::10ms`) joins them: a slice that is followed by an
 * off-CPU interval shorter than the minimum becomes one with the next. Its duration runs over both
 * and over the gap, gaps and runnable add up, state and stacks are the last one's, so that no sum
 * loses anything.
 */
#ifndef COLLECTOR_SLICE_H
#define COLLECTOR_SLICE_H

#include <stdbool.h>

#include "event/record.h"
#include "event/trace.h"

/* An event with its stacks resolved: what a row is made of. */
struct slice {
	struct event event;				      /* the fixed part only */
	uint64_t detail[EVENT_DETAIL_MAX / sizeof(uint64_t)]; /* event.detail_sz bytes of it */
	uint64_t ustack_id, kstack_id;			      /* 0: none */
	enum unwind_status unwind;			      /* with a ustack_id */
	uint64_t gaps_ns;
};

/*
 * Puts `before` and the gap in front of `s`, both of one thread, when the gap is shorter than
 * min_ns. False when it is not: `before` is a row of its own then.
 */
bool slice__join(struct slice *s, const struct slice *before, uint64_t min_ns);

#endif
