/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the events of a trace, from the table trace_events (sql/trace/), into the file. */
#ifndef STACKSEXPORT_TRACE_TRACEEVENTS_H
#define STACKSEXPORT_TRACE_TRACEEVENTS_H

#include "stacksexport/duck/db.h"
#include "stacksexport/trace/lanes.h"
#include "stacksexport/trace/stacktree.h"
#include "stacksexport/trace/tracefile.h"
#include "stacksexport/trace/tracequery.h"

/* The parts that writing needs; all borrowed. */
struct traceevents {
	struct tracefile *file;
	const struct stacktree *stacks;
	const struct tracequery *queries;
	int64_t first_ns; /* the zero of the trace */
};

struct traceevents_stats {
	size_t events[EXPORT_ARGUMENTS_MAX]; /* events that were written, by query */
	size_t overlapping; /* events that were not written because no lane was free */
};

/* Writes the events, then the names of their processes and threads. Returns 0 or -errno (already
 * logged). The file keeps its own errors. */
int traceevents__write(const struct traceevents *, struct db *, struct traceevents_stats *);

#endif
