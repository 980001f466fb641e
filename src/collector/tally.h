/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of what a session has seen, by kind. */
#ifndef COLLECTOR_TALLY_H
#define COLLECTOR_TALLY_H

#include "capture/capture.h"
#include "event/record.h"
#include "event/trace.h"

enum loss_said { SAID_STATE_FULL, SAID_NO_MEMORY, SAID_CNT };

struct session_stats {
	uint64_t rows[EVENT_KIND_CNT];
	uint64_t user_stacks[EVENT_KIND_CNT], to_root[EVENT_KIND_CNT];
	uint64_t lost[EVENT_KIND_CNT]; /* counted for the first kind of the probe that lost them */
	uint64_t lost_sideband;
	uint64_t unwound[UNWIND_STATUS_CNT];
	bool said[EVENT_KIND_CNT][SAID_CNT]; /* the user was warned about the kind's probe */
};

/* Counts events that a probe lost. Warns once if a bound or a lack of memory was the reason. */
void session_stats__lose(struct session_stats *, const struct capture_loss *);
/* Returns the sum over all kinds. */
uint64_t session_stats__sum(const uint64_t by_kind[EVENT_KIND_CNT]);
void session_stats__walked(struct session_stats *, enum event_kind, enum unwind_status);

#endif
