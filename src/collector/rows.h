/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes rows of the present batch from resolved events: times, strings, labels. */
#ifndef COLLECTOR_ROWS_H
#define COLLECTOR_ROWS_H

#include "capture/capture.h"
#include "collector/clock.h"
#include "stacks/labels.h"
#include "collector/slice.h"
#include "collector/threadtable.h"

struct cgroups;

struct rows {
	struct recording *recording; /* borrowed */
	struct clock clock;
	struct cgroups *cgroups;
	struct labels labels;
	bool has_gaps; /* slices are joined, and the column `gaps` is filled */
};

/* Returns 0 or -errno. */
int rows__init(struct rows *, struct recording *, bool has_gaps);
void rows__free(struct rows *);

/*
 * Updates the thread's string ids if the event has other strings or the batch is new. Compares
 * bytes; looks nothing up if they are equal. Call it with the event's thread before rows__add().
 */
void rows__name(struct rows *, struct thread *, const struct event *);
void rows__set_build_id(struct rows *, struct thread *, const struct build_id *);

/* Returns 0 or -ENOMEM. */
int rows__add(struct rows *, const struct resolved_event *, const struct thread *);

/* Adds a row of kind `lost` for a loss between two times (CLOCK_MONOTONIC). Returns 0 or -ENOMEM.
 */
int rows__add_loss(struct rows *, const struct capture_loss *, uint64_t from_ns, uint64_t to_ns);

#endif
