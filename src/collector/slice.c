// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/slice.h"

bool slice__join(struct resolved_event *s, const struct resolved_event *before, uint64_t min_ns)
{
	uint64_t start_ns = s->event.time_ns - s->event.duration_ns;
	uint64_t gap_ns = start_ns - before->event.time_ns;

	/* An event was lost, or clocks of two CPUs differ: do not invent a gap. */
	if (start_ns < before->event.time_ns || gap_ns >= min_ns)
		return false;
	s->event.duration_ns =
		s->event.time_ns - (before->event.time_ns - before->event.duration_ns);
	s->gaps_ns += before->gaps_ns + gap_ns;
	if (before->event.flags & EVENT_F_RUNNABLE) {
		s->event.runnable_ns += before->event.runnable_ns;
		s->event.flags |= EVENT_F_RUNNABLE;
	}
	return true;
}
