/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries of a trace. Their rows become events in the table trace_events (sql/trace/). */
#ifndef STACKSEXPORT_TRACE_TRACEQUERY_H
#define STACKSEXPORT_TRACE_TRACEQUERY_H

#include "stacksexport/request.h"
#include "stacksexport/trace/stacktree.h"

struct tracequery {
	const char *path; /* as the user gave it; borrowed */
	char *name;	  /* name of the file, without folders and .sql */
	char **args;	  /* names of the columns that are in `args` of its events */
	size_t arg_cnt;
};

/* Runs the query. Adds its rows to trace_events with its number, and its stacks to `stacks`.
 * Returns STATUS_OK, or an exit status (already logged); call tracequery__free() in either case. */
int tracequery__run(struct tracequery *, struct request *, int number, struct stacktree *stacks);
void tracequery__free(struct tracequery *);

#endif
