/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a snapshot to its call chain, by DWARF CFI. */
#ifndef UNWIND_UNWINDER_H
#define UNWIND_UNWINDER_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"
#include "jit/jitfile.h"
#include "cfi/tablestore.h"

struct unwinder;

/* Both are borrowed. `cache` NULL: tables are not kept. NULL + errno. */
struct unwinder *unwinder__new(struct table_cache *cache, struct jobs *);
/* Before the first walk: where jitdumps are, if not with processes of this host. */
void unwinder__set_jit_places(struct unwinder *, const struct jit_places *);
/* When no job of its files is left: after jobs__free(). */
void unwinder__free(struct unwinder *);

/*
 * Walks the stack of a sample of `process`. Never fails: trace->status
 * says how far it came; trace->cnt is at least 1. Where tables are (cfi/tablestore.h) it goes the
 * short way; where they are not yet, or have no flat rule, libdw is asked, and its rules are kept.
 * Reads the file then: that may take a while.
 */
void unwinder__walk(struct unwinder *, const struct process *, const struct sample *,
		    struct trace *);

/*
 * The same for who must not wait for files: they are read by jobs. False where it needs what is
 * being read: what is in the trace then means nothing; it may be tried again when jobs__collect()
 * has taken something back. Who can wait no longer makes do with what there is.
 */
bool unwinder__try(struct unwinder *, const struct process *, const struct sample *,
		   struct trace *);
void unwinder__make_do(struct unwinder *, const struct process *, const struct sample *,
		       struct trace *);

/* unwinder__try() of many, whose order does not matter: they are walked in turns, so that memory is
 * waited for together. */
struct walk_job {
	const struct process *process;
	const struct sample *sample;
	struct trace *trace; /* each its own */
	bool awaits;	     /* set: what unwinder__try() says false of */
};
void unwinder__try_many(struct unwinder *, struct walk_job *, size_t cnt);

struct unwinder_stats {
	uint64_t flat, partly,
		odd;	   /* walks: all the short way, but for code without a table, not */
	uint64_t recalled; /* of them: where callers were those of an earlier walk */
	struct table_store_stats tables;
};
void unwinder__stats(const struct unwinder *, struct unwinder_stats *);

#endif
