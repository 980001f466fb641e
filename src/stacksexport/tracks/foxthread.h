/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread of a profile for the Firefox Profiler: samples that are weighted by time, and markers.
 * Collects the thread's events in the order of time, then writes them column by column. */
#ifndef STACKSEXPORT_TRACKS_FOXTHREAD_H
#define STACKSEXPORT_TRACKS_FOXTHREAD_H

#include "stacksexport/trace/tracequery.h"
#include "stacksexport/trace/tracerows.h"
#include "stacksexport/tracks/foxtables.h"

enum { FOX_SAMPLE_COLUMNS = 4, FOX_MARKER_COLUMNS = 6 };

struct fox_thread {
	struct fox_tables *tables; /* borrowed, like the queries */
	const struct tracequery *queries;
	int64_t first_ns; /* the zero of the profile */
	bool is_main;	  /* of its process */
	/* the rest is collected */
	struct buf samples[FOX_SAMPLE_COLUMNS], markers[FOX_MARKER_COLUMNS]; /* JSON, by column */
	size_t sample_cnt, marker_cnt;
	int64_t begin_ns; /* of the first event, from the zero on */
};

bool fox_thread__is_empty(const struct fox_thread *);

/* Adds an event: a sample, or a marker. */
void fox_thread__take(struct fox_thread *, const struct trace_rows *, idx_t row);

struct fox_thread_name {
	int32_t pid, tid;
	const char *thread, *process; /* "": unknown */
};

/* Appends the thread, and empties it for the next one. */
void fox_thread__write(struct fox_thread *, struct buf *out, const struct fox_thread_name *);

int fox_thread__err(const struct fox_thread *); /* 0 or -ENOMEM */
void fox_thread__free(struct fox_thread *);

#endif
