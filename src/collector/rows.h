/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From slices to rows of the batch being made: times, strings, labels. */
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
	bool has_gaps; /* slices are joined: the column `gaps` is filled */
};

/* 0 or -errno. */
int rows__init(struct rows *, struct recording *, bool has_gaps);
void rows__free(struct rows *);

/*
 * Makes the ids that the event or a new batch asks for; compares bytes, looks up nothing when they
 * are the same. To be called before rows__add() with the event's thread.
 */
void rows__name(struct rows *, struct thread *, const struct event *);
void rows__set_build_id(struct rows *, struct thread *, const struct build_id *);

/* 0 or -ENOMEM. */
int rows__add(struct rows *, const struct slice *, const struct thread *);

/* A row of the kind `lost`: it happened in between (CLOCK_MONOTONIC). 0 or -ENOMEM. */
int rows__add_loss(struct rows *, const struct capture_loss *, uint64_t from_ns, uint64_t to_ns);

#endif
