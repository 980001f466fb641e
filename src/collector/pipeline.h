/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of an event from its record to its row. Private to session.c, which has the other
 * records, the batches and the end of the recording.
 */
#ifndef COLLECTOR_PIPELINE_H
#define COLLECTOR_PIPELINE_H

#include "collector/deferred.h"
#include "collector/openops.h"
#include "collector/rows.h"
#include "collector/slice.h"
#include "collector/tally.h"
#include "collector/threadtable.h"
#include "collector/walker.h"
#include "process/process.h"
#include "stacks/carry.h"
#include "stacks/kernelnames.h"
#include "stacks/stack.h"

struct session {
	struct recording *recording;
	struct process_table *processes;
	struct jobs *jobs;
	struct walker *walker;
	struct kernel_names *kernel; /* NULL: no source takes kernel stacks */
	struct stacks *stacks;
	struct jit *jit; /* of the walker and of the stacks */
	struct carry *carry;
	struct deferred *deferred;
	struct rows rows;
	struct open_ops *joins;
	struct threads threads;
	struct session_stats stats;
	uint64_t join_min_ns;	 /* switch::DUR */
	uint64_t span_above_ns;	 /* longer spans are slow */
	uint64_t slow_span_ns;	 /* duration of a slow span; 0: none was seen */
	uint64_t losses_from_ns; /* time of the last query of losses */
	uint64_t rescanned_ns;
	uint64_t swept_ns;	   /* time of the last sweep of threads */
	uint32_t empty_generation; /* of the recording, if its batch was empty at that time; else 0
				    */
	uint64_t end_ns;	   /* end of the recording; 0 before */
	uint64_t overdue_ns;	   /* start of a batch's wait for names; 0: none waits */
	int err;		   /* the recording failed and must stop */
	bool backlog;		   /* deferred events can be retried: their files have been read */
	bool said;
};

/* Processes up to RECORD_BATCH samples, in the order of time. */
void pipeline__samples(struct session *, const struct record *, size_t cnt);

/* Processes an event that may have been deferred. Returns false if it must wait. A deferred_fn. */
bool pipeline__take(const struct deferred_entry *, bool last, void *session);

/* Adds the row of an operation that `end` ends. It belongs to the thread that began it. */
void pipeline__close(struct session *, const struct event *end);

/* Counts lost events and adds their rows. */
void pipeline__loss(struct session *, const struct capture_loss *);

/* Adds the row of the slice that the thread waits to join, if there is one. */
void pipeline__end_slice(struct session *, struct thread *);

#endif
