/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers of stacks that are larger than their snapshots, taken from what the same thread's stack
 * was like a moment before (the idea is simpleperf's CallChainJoiner). A guess, though a checked
 * one: five frames in a row must be where they were, have the same return addresses and the same
 * saved registers.
 */
#ifndef UNWIND_STITCH_H
#define UNWIND_STITCH_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct stitch;

/* Remembers stacks in at most `max_sz` bytes, those of the threads seen last. NULL + errno. */
struct stitch *stitch__new(size_t max_sz);
void stitch__free(struct stitch *);

/* The thread of a stack. The process is the one of the walk. */
struct stitch_thread {
	const struct process *process;
	uint32_t tid;
};

/*
 * After a walk: remembers a stack that reached its root; to one that is UNWIND_TRUNCATED it adds
 * the callers that are remembered, marked FRAME_BY_STITCH, and makes it UNWIND_STITCHED.
 */
void stitch__apply(struct stitch *, const struct stitch_thread *, const struct snapshot *,
		   struct trace *);

struct stitch_stats {
	uint64_t truncated, joined; /* stacks */
	size_t threads, sz;	    /* remembered now: threads, bytes */
};
void stitch__stats(const struct stitch *, struct stitch_stats *);

#endif
