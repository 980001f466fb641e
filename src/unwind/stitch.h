/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completes truncated stacks with callers from the same thread's previous stack (the idea is
 * simpleperf's CallChainJoiner). This is a checked guess: five frames in a row must be at the same
 * addresses, with the same return addresses and saved registers.
 */
#ifndef UNWIND_STITCH_H
#define UNWIND_STITCH_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct stitch;

/* Remembers the stacks of recently seen threads in at most `max_sz` bytes. Returns NULL and sets
 * errno. */
struct stitch *stitch__new(size_t max_sz);
void stitch__free(struct stitch *);

/* The thread of a stack, and the process of the walk. */
struct stitch_thread {
	const struct process *process;
	uint32_t tid;
};

/*
 * Call it after a walk. Remembers a stack that reached its root. Adds the remembered callers to a
 * stack that is UNWIND_TRUNCATED, marked FRAME_BY_STITCH, and makes it UNWIND_STITCHED.
 */
void stitch__apply(struct stitch *, const struct stitch_thread *, const struct snapshot *,
		   struct trace *);

struct stitch_stats {
	uint64_t truncated, joined; /* stacks */
	size_t threads, sz;	    /* remembered threads, their bytes */
};
void stitch__stats(const struct stitch *, struct stitch_stats *);

#endif
