/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The IDs of the constant strings in the batch that is being filled. */
#ifndef STACKS_LABELS_H
#define STACKS_LABELS_H

#include <limits.h>

#include "event/record.h"
#include "event/trace.h"
#include "store/recording.h"

struct labels {
	uint32_t generation;
	uint32_t kinds[EVENT_KIND_CNT], states[EVENT_STATE_CNT], unwinds[UNWIND_STATUS_CNT];
	uint32_t lost, rate, host;
	char host_name[HOST_NAME_MAX + 1];
};

/* Renews the IDs if the recording has begun another batch. */
void labels__refresh(struct labels *, struct recording *);

/* Returns the value of the column `unwind`. */
const char *unwind_status__name(enum unwind_status);
const char *frame_source__mark(uint32_t frame_source); /* NULL: no mark */

#endif
