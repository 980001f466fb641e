/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a stacktrace_tracker. Private to src/libstacktrace. */
#ifndef LIBSTACKTRACE_TRACKER_H
#define LIBSTACKTRACE_TRACKER_H

#include <pthread.h>

#include "event/trace.h"
#include "process/process.h"
#include "stacktrace.h"
#include "jit/jit.h"
#include "jit/dumppaths.h"
#include "unwind/walkpolicy.h"

/* Marks the functions that the version script exports (libstacktrace.map). */
#define API __attribute__((visibility("default")))

/* Frames of a walk. The callback reads them after the tracker is unlocked. */
struct scratch {
	struct scratch *next; /* in the free list */
	struct trace trace;
};

struct stacktrace_tracker {
	pthread_mutex_t lock; /* protects all other fields; recursive, for on_process */
	size_t max_frames;
	void (*on_process)(stacktrace_tracker *, pid_t, void *arg);
	void (*on_download)(const struct stacktrace_downloads *, void *arg);
	void *arg;
	struct finder *finder;
	struct process_table *processes;
	struct jobs *jobs;
	struct table_cache *cache; /* NULL if disabled */
	struct walk_policy policy;
	struct dump_paths *dump_paths;
	char *proc, *jit_root; /* owned; jit points to them */
	struct jit *jit;
	struct scratch *scratch;
	uint64_t samples, frames, ended[STACKTRACE_END_COUNT];
};

static inline void tracker__lock(stacktrace_tracker *t)
{
	pthread_mutex_lock(&t->lock);
}

static inline void tracker__unlock(stacktrace_tracker *t)
{
	pthread_mutex_unlock(&t->lock);
}

/* Applies the results of jobs and downloads that finished since the last call. Must hold the
 * lock. */
static inline void tracker__collect(stacktrace_tracker *t)
{
	jobs__collect(t->jobs);
	process_table__collect(t->processes);
}

static inline struct stacktrace_downloads tracker__downloads(const struct download_stats *s)
{
	return (struct stacktrace_downloads){ s->pending, s->found, s->failed, s->got, s->total };
}

#endif
