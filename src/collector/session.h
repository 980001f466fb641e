/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns records into rows: process table, unwinder, symbols, stacks, recording. Runs on the main
 * thread only. */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include "collector/census.h"
#include "collector/collector_options.h"
#include "collector/deferred.h"
#include "collector/tally.h"
#include "runtime/runtimes.h"
#include "unwind/unwinder.h"
#include "worker/workers.h"

struct session;
struct any_probes;
struct rate_change; /* collector/rows.h */

/* Borrows the census, which must outlive the session; its jobs must be stopped first. Borrows
 * `runtimes`; NULL: none are recorded. Returns NULL + errno (already logged). */
struct session *session__new(const struct collector_options *, struct recording *,
			     const struct census *, struct runtimes *);
void session__free(struct session *);
/* Sets the descriptions of chosen probes, which their rows contain. Borrows them. */
void session__set_probes(struct session *, const struct any_probes *);

/* Processes records. Callback of merge__drain(). */
void session__records(const struct record *, size_t cnt, void *session);
/* Counts lost events and adds their rows. Callback of capture__losses(). */
void session__loss(const struct capture_loss *, void *session);
/* Adds the row of a change of a source's rate. */
void session__rate(struct session *, const struct rate_change *);
/* Call it before each drain, with the time up to which everything was drained. Returns 0, or -errno
 * if the recording failed and the caller must stop. */
int session__tick(struct session *, uint64_t now_ns);
/* Returns an fd that is readable when the next tick has finished jobs or names to collect. */
int session__fd(const struct session *);
/* Returns true if the next tick should run at once. */
bool session__backlog(const struct session *);
/* Adds rows for the slices that still wait to be joined, and for the operations that are still
 * open. */
void session__flush(struct session *, uint64_t end_ns);

const struct session_stats *session__stats(const struct session *);
struct jit *session__jit(const struct session *); /* borrowed */

/* Sums over all kinds, and the work in progress. */
struct session_totals {
	uint64_t rows, user_stacks, to_root, lost;
	size_t reading;	 /* files being opened or read, and tables being built */
	size_t unnamed;	 /* stacks that wait for their names */
	size_t nameless; /* stacks written without names: a file system did not answer */
	size_t threads;	 /* known ones */
	size_t threads_sz, unnamed_sz, kernel_names_sz; /* bytes */
	struct process_table_stats processes;
	struct unwinder_stats unwinder;
	struct deferred_stats deferred;
	struct workers_stats workers;
};
/* Sets the duration above which a closed span is slow. UINT64_MAX: none is. */
void session__watch_spans(struct session *, uint64_t above_ns);
/* Returns the duration of a slow span since the last call; 0: there was none. */
uint64_t session__take_slow_span(struct session *);

struct session_totals session__totals(const struct session *);
/* Returns the CPU time in ns of this process and of its workers. */
uint64_t session__cpu_ns(const struct session *);

#endif
