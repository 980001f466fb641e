/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is behind a stacktrace_tracker. Private to src/libstacktrace. */
#ifndef LIBSTACKTRACE_TRACKER_H
#define LIBSTACKTRACE_TRACKER_H

#include <pthread.h>

#include "event/trace.h"
#include "process/process.h"
#include "stacktrace.h"
#include "jit/jit.h"
#include "jit/dumppaths.h"
#include "unwind/stitch.h"
#include "unwind/unwinder.h"

/* What the version script makes public (libstacktrace.map). */
#define API __attribute__((visibility("default")))

/* Frames of a walk, read by its callback when the tracker is no longer locked. */
struct scratch {
	struct scratch *next; /* in the list of unused ones */
	struct trace trace;
};

struct stacktrace_tracker {
	pthread_mutex_t lock; /* of all else; recursive, for on_process */
	size_t max_frames;
	void (*on_process)(stacktrace_tracker *, pid_t, void *arg);
	void (*on_download)(const struct stacktrace_downloads *, void *arg);
	void *arg;
	struct finder *finder;
	struct process_table *processes;
	struct jobs *jobs;
	struct table_cache *cache; /* NULL: none */
	struct unwinder *unwinder;
	struct stitch *stitch; /* NULL: none */
	struct dump_paths *dump_paths;
	struct jit_places jit_places;
	char *proc, *jit_root; /* its strings */
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

/* Takes over what threads have made since. Locked. */
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
