/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a snapshot to its call chain, by DWARF CFI. */
#ifndef UNWIND_UNWINDER_H
#define UNWIND_UNWINDER_H

#include "event/trace.h"
#include "process/process.h"
#include "unwind/tables.h"

struct unwinder;

/* `cache` is borrowed; NULL: tables are not kept. NULL + errno. */
struct unwinder *unwinder__new(struct table_cache *cache);
void unwinder__free(struct unwinder *);

/*
 * Walks the user stack of `event` (which has EVENT_F_USER) in `process`. Never fails: trace->status
 * says how far it came; trace->cnt is at least 1. Where tables are (unwind/tables.h) it goes the
 * short way; where they are not yet, or have no flat rule, libdw is asked, and its rules are kept.
 */
void unwinder__walk(struct unwinder *, const struct process *, const struct event *,
		    struct trace *);

/* Between walks: takes over the tables that have been made meanwhile. */
void unwinder__collect(struct unwinder *);
/* The same, waiting for all that walks have asked for. */
void unwinder__settle(struct unwinder *);

struct unwinder_stats {
	uint64_t flat, partly, odd; /* walks: all the short way, until code without a file, not */
	struct tables_stats tables;
};
void unwinder__stats(const struct unwinder *, struct unwinder_stats *);

#endif
