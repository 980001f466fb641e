/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the rows of the table trace_events (sql/trace/). */
#ifndef STACKSEXPORT_TRACE_TRACEROWS_H
#define STACKSEXPORT_TRACE_TRACEROWS_H

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/db.h"

/* Columns of sql/trace/events.sql and sql/tracks/by_thread.sql. */
enum event_column {
	EVENT_QUERY,
	EVENT_EVENT,
	EVENT_NAME,
	EVENT_KIND,
	EVENT_PID,
	EVENT_TID,
	EVENT_CPU,
	EVENT_AMOUNT,
	EVENT_RATE,
	EVENT_BEGIN,
	EVENT_END,
	EVENT_STACK,
	EVENT_END_STACK,
	EVENT_ARGS,
	EVENT_COLUMN_CNT,
};

/* The shapes of events: the texts of EVENT_EVENT. */
enum event_shape { SHAPE_COMPLETE, SHAPE_INSTANT, SHAPE_COUNTER, SHAPE_SAMPLE };

/* The vectors of a chunk of rows. */
struct trace_rows {
	struct cells columns[EVENT_COLUMN_CNT];
	struct cells arg; /* elements of EVENT_ARGS */
};

/* Calls `take` for each row of the query until it returns an error. Returns 0 or -errno; errors of
 * the query are logged. */
int trace_rows__each(struct db *, const char *path,
		     int (*take)(const struct trace_rows *, idx_t row, void *arg), void *arg);

enum event_shape trace_rows__shape(const struct trace_rows *, idx_t row);
int64_t trace_rows__number(const struct trace_rows *, enum event_column, idx_t row);

/* Returns the key of a stack in *key; false if there is none. */
bool trace_rows__key(const struct trace_rows *, enum event_column, idx_t row, uint64_t *key);

/* Returns argument `i` of the event (struct tracequery), or NULL; borrowed from the chunk. */
const char *trace_rows__arg(const struct trace_rows *, idx_t row, size_t i, size_t *sz);

#endif
