/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as a timeline: what shipped queries of `trace` give, in the table trace_events
 * (sql/trace/), and the stacks of these events. */
#ifndef STACKSEXPORT_TRACKS_TRACKS_H
#define STACKSEXPORT_TRACKS_TRACKS_H

#include "pprof/builder.h"
#include "stacksexport/request.h"
#include "stacksexport/trace/tracequery.h"

#define TRACKS_QUERY_MAX 12

struct tracks {
	struct request request;
	struct builder *frames; /* keeps each stack under the key that its events have */
	struct tracequery queries[TRACKS_QUERY_MAX];
	size_t query_cnt;
	int64_t first_ns; /* the begin of the first event */
	int64_t lost;	  /* events */
};

/* Opens the recording and runs the queries, except those of events that never happened. `paths` are
 * below the share folder and end with NULL. Returns STATUS_OK, or an exit status (already logged).
 * Call tracks__close() in either case. */
int tracks__open(struct tracks *, const struct export_options *, const char *const *paths);
void tracks__close(struct tracks *);

#endif
