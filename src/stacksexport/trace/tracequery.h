/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries of a trace. Their rows become events in the table trace_events (sql/trace/). */
#ifndef STACKSEXPORT_TRACE_TRACEQUERY_H
#define STACKSEXPORT_TRACE_TRACEQUERY_H

#include "stacksexport/request.h"
#include "pprof/named_frame.h"

struct tracequery {
	const char *path; /* as the user gave it; borrowed */
	bool shipped;	  /* path is below the share folder; the current folder is not searched */
	char *name;	  /* name of the file, without folders and .sql */
	char **args;	  /* names of the columns that are in `args` of its events */
	size_t arg_cnt;
};

/* Takes the stacks of the events, each once: its frames, leaf first, then its key. Is not called
 * for stacks that it already has. */
struct stack_sink {
	bool (*has)(const void *arg, uint64_t key);
	void (*frame)(const struct named_frame *, void *arg);
	void (*stack)(void *arg, uint64_t key);
	void *arg;
};

/* Runs the query. Adds its rows to trace_events with its number, and its stacks to the sink.
 * Returns STATUS_OK, or an exit status (already logged); call tracequery__free() in either case. */
int tracequery__run(struct tracequery *, struct request *, int number, const struct stack_sink *);
void tracequery__free(struct tracequery *);

#endif
