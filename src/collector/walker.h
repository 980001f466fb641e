/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an event of a process to the call chain of its user stack, the way that the options say. */
#ifndef COLLECTOR_WALKER_H
#define COLLECTOR_WALKER_H

#include "collector/collector_options.h"
#include "event/record.h"
#include "event/trace.h"
#include "unwind/unwinder.h"

struct walker;

struct walker_options {
	const struct options *options;	 /* of the collector; not kept */
	struct jobs *jobs;		 /* what files are read by; borrowed */
	struct process_table *processes; /* borrowed */
};

struct walker *walker__new(const struct walker_options *); /* NULL + errno */
/* After jobs__free(). Accepts NULL. */
void walker__free(struct walker *);

/*
 * Walks the stacks of up to RECORD_BATCH events together. What comes of it is there when they are
 * walked one by one, in this order.
 */
struct walker_entry {
	struct process *process; /* NULL: nobody knows */
	const struct event *event;
};
void walker__ahead(struct walker *, const struct walker_entry *, size_t cnt);

/*
 * The chain, which is valid until the next walk; NULL while a file that it needs is being read, but
 * when it is the `last` time: then it is walked with what there is. The process is the table's, or
 * was kept: where it leads nowhere /proc is asked what is mapped now.
 */
const struct trace *walker__walk(struct walker *, struct process *, const struct event *,
				 bool last);

void walker__stats(const struct walker *, struct unwinder_stats *);

#endif
