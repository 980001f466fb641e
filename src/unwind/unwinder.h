/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds a snapshot into a call chain, by DWARF CFI. */
#ifndef UNWIND_UNWINDER_H
#define UNWIND_UNWINDER_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/managed.h"
#include "process/process.h"
#include "jit/jit.h"
#include "cfi/tablestore.h"

struct unwinder;

/* Borrows both arguments. Returns NULL and sets errno. Tables are not kept on disk if `cache` is
 * NULL. */
struct unwinder *unwinder__new(struct table_cache *cache, struct jobs *);
/* Sets the source of call-frame information for code that processes make at run time; borrowed.
 * Without it, such code is walked by frame pointer. Call it before the first walk. Returns 0 or
 * -ENOMEM. */
int unwinder__set_jit(struct unwinder *, struct jit *);
/* Sets how code of managed runtimes is walked. Call it before the first walk. */
void unwinder__set_managed(struct unwinder *, const struct managed_code *);
/* Must be called after jobs__free(): no job may still use its files. */
void unwinder__free(struct unwinder *);

/*
 * Walks the stack of a sample of `process`. Never fails: trace->status has the reason why the walk
 * ended, and trace->cnt is at least 1. Uses the fast walk where tables are loaded
 * (cfi/tablestore.h). Uses libdw, and keeps its rules, where a table is not loaded yet or has no
 * packed rule. May block on disk to read the file.
 */
void unwinder__walk(struct unwinder *, const struct process *, const struct sample *,
		    struct trace *);

/*
 * Non-blocking variant: jobs read the files. Returns false, with `*trace` undefined, if a needed
 * file is still being read; retry after jobs__collect() has returned a job.
 * unwinder__walk_available() does not wait either, but walks with the files that are already read.
 */
bool unwinder__try(struct unwinder *, const struct process *, const struct sample *,
		   struct trace *);
void unwinder__walk_available(struct unwinder *, const struct process *, const struct sample *,
			      struct trace *);

/* Like unwinder__try(), for many samples in any order. Interleaves the walks so that their cache
 * misses overlap. */
struct walk_job {
	const struct process *process;
	const struct sample *sample;
	struct trace *trace; /* one per job */
	bool awaits;	     /* output: true where unwinder__try() would return false */
};
void unwinder__try_many(struct unwinder *, struct walk_job *, size_t cnt);

struct unwinder_stats {
	uint64_t flat, partly,
		odd;	   /* walks: all fast; fast except code without a table; all slow */
	uint64_t recalled; /* of these walks: those that copied callers from the suffix cache */
	struct table_store_stats tables;
	size_t jit_cfi_sz; /* bytes of the call-frame information of JIT code */
};
void unwinder__stats(const struct unwinder *, struct unwinder_stats *);

#endif
