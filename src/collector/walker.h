/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the user stack of an event with the unwinder that the options select. */
#ifndef COLLECTOR_WALKER_H
#define COLLECTOR_WALKER_H

#include "collector/collector_options.h"
#include "event/record.h"
#include "event/trace.h"
#include "runtime/runtimes.h"
#include "unwind/unwinder.h"

struct walker;

struct walker_options {
	const struct collector_options *options; /* of the collector; read only in walker__new() */
	struct jobs *jobs;			 /* read the files; borrowed */
	struct process_table *processes;	 /* borrowed */
	struct runtimes *runtimes;		 /* borrowed; NULL: none are recorded */
	struct jit *jit;			 /* borrowed */
};

struct walker *walker__new(const struct walker_options *); /* NULL + errno */
/* Call it after jobs__free(). Accepts NULL. */
void walker__free(struct walker *);

/*
 * Walks the stacks of up to RECORD_BATCH events together and keeps the results. walker__walk() then
 * returns them, if it is called for the same events in this order.
 */
struct walker_entry {
	struct process *process; /* NULL if unknown */
	const struct event *event;
};
void walker__ahead(struct walker *, const struct walker_entry *, size_t cnt);

/*
 * Returns the call chain, valid until the next walk. Returns NULL while a needed file is being
 * read, unless this is the `last` try: then it walks with the files that are there. The process is
 * the table's or was kept. If it has no mapping for an address, its mappings are read from /proc
 * again.
 */
const struct trace *walker__walk(struct walker *, struct process *, const struct event *,
				 bool last);

/* An event that waits for an earlier one, or for files: the interpreter of its process and the
 * functions of its calls, which may go soon, are looked up meanwhile. `process`: the table's, or
 * NULL. */
void walker__defer(struct walker *, const struct process *, const struct event *);

void walker__stats(const struct walker *, struct unwinder_stats *);

#endif
