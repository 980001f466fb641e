/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From records to rows: process table, unwinder, symbols, stacks, recording. One thread. */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include "collector/census.h"
#include "collector/collector_options.h"
#include "collector/deferred.h"
#include "collector/tally.h"
#include "unwind/unwinder.h"

struct session;

/* With what the census has, which outlives it, but for its jobs: those are stopped before. NULL +
 * errno after saying what failed. */
struct session *session__new(const struct options *, struct recording *, const struct census *);
void session__free(struct session *);

/* Takes records; the callback of merge__drain(). */
void session__records(const struct record *, size_t cnt, void *session);
/* Events that never came; the callback of capture__losses(). */
void session__loss(const struct capture_loss *, void *session);
/* Before each drain, with the time up to which everything was drained. 0, or -errno of the
 * recording: stop. */
int session__tick(struct session *, uint64_t now_ns);
/* Readable when a tick would find something that has been waited for. */
int session__fd(const struct session *);
/* Whether the next tick has something to do at once. */
bool session__backlog(const struct session *);
/* Writes the slices that still wait to be joined, and the operations that go on after the end. */
void session__flush(struct session *, uint64_t end_ns);

const struct session_stats *session__stats(const struct session *);

/* The same over all kinds, and what is under way. */
struct session_totals {
	uint64_t rows, user_stacks, to_root, lost;
	size_t reading;	 /* files that are being opened or read, and tables that are being made */
	size_t unnamed;	 /* stacks whose names are being looked up */
	size_t nameless; /* stacks that were written without: a file system did not answer */
	struct unwinder_stats unwinder;
	struct deferred_stats deferred;
};
struct session_totals session__totals(const struct session *);

#endif
