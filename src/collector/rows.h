/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes rows of the present batch from resolved events: times, strings, labels. */
#ifndef COLLECTOR_ROWS_H
#define COLLECTOR_ROWS_H

#include "capture/capture.h"
#include "collector/clock.h"
#include "stacks/labels.h"
#include "collector/slice.h"
#include "collector/threadtable.h"
#include "process/process.h"

struct any_probes;
struct cgroups;
struct container_names;
struct process_rows;
struct span_names;

struct rows {
	struct recording *recording; /* borrowed */
	struct clock clock;
	struct cgroups *cgroups;
	struct process_rows *processes;
	struct labels labels;
	struct span_names *span_names;
	struct container_names *containers;
	const struct any_probes *probes; /* borrowed; NULL: none are recorded */
	bool has_gaps;			 /* slices are joined, and the column `gaps` is filled */
};

/* Borrows the recording and the processes. Returns 0 or -errno. */
int rows__init(struct rows *, struct recording *, const struct process_table *);
void rows__free(struct rows *);

/*
 * Updates the thread's string ids if the event has other strings or the batch is new. Compares
 * bytes; looks nothing up if they are equal. Adds the row of the process if the batch lacks it.
 * Call it with the event's thread before rows__add().
 */
void rows__name(struct rows *, struct thread *, const struct event *);
void rows__set_build_id(struct rows *, struct thread *, const struct build_id *);

/* Call it with the begin of an operation that may be a span, before rows of events in it. */
void rows__name_span(struct rows *, const struct resolved_event *);

/* Returns 0 or -ENOMEM. */
int rows__add(struct rows *, const struct resolved_event *, const struct thread *);

/* Notices that another process has this id, or another program runs in it. */
void rows__fork(struct rows *, struct thread *, uint32_t tgid); /* the thread may be NULL */
void rows__exec(struct rows *, struct thread *, uint32_t tgid);
/* A batch has begun. */
void rows__sweep(struct rows *);
/* No event has come for some time, and the batch is empty: frees what is kept of processes. */
void rows__forget(struct rows *);

/* Adds a row of kind `lost` for a loss between two times (CLOCK_MONOTONIC). Returns 0 or -ENOMEM.
 */
int rows__add_loss(struct rows *, const struct capture_loss *, uint64_t from_ns, uint64_t to_ns);

/* A change of a source's rate. Times: CLOCK_MONOTONIC. */
struct rate_change {
	const char *source, *reason;
	uint32_t every;		 /* 1 of so many events is recorded from now on */
	uint64_t from_ns, to_ns; /* the time since the last change */
};

/* Adds a row of kind `rate`. Returns 0 or -ENOMEM. */
int rows__add_rate(struct rows *, const struct rate_change *);

#endif
