/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may wait for a disk, a network or somebody's file system, done by threads of its own:
 * who reads rings submits it and goes on. One thread does it all as long as it gets on; while one
 * is held up another takes over, so that a file that never answers holds up nobody but those of
 * its own lane.
 */
#ifndef BASE_JOBS_H
#define BASE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of those that wait. The first have the priority of who made the jobs: he waits for them. */
enum job_rank { JOB_FIRST, JOB_NEXT, JOB_LAST, JOB_RANK_CNT };

#define JOB_CROWD_ROOT UINT64_MAX

/* Who submits one has allocated it, as a part of what `work` and `done` know. */
struct job {
	struct job *next;    /* private */
	struct job_lane *at; /* private */
	enum job_rank rank;
	bool slow;     /* it works for long: another thread takes over at once */
	uint64_t lane; /* jobs of one lane (a device) are done one after the other */
	/*
	 * The user that answers for the lane, plus one; JOB_CROWD_ROOT; or 0: like the jobs before
	 * it. At most two lanes at a time are worked on that only one and the same user has jobs
	 * in. When both hang, jobs in others of that user are given back undone.
	 */
	uint64_t crowd;
	/*
	 * NULL, or whether the lane answers: asked in some thread before the first job of a lane,
	 * and again some time after it did not. Jobs of a lane that does not are given back undone.
	 */
	bool (*probe)(struct job *);
	/*
	 * In some thread. Touches only what is the job's own, or never changes: it may go on when
	 * all else is gone.
	 */
	void (*work)(struct job *);
	/* In jobs__collect(), for its thread; takes the job back. Also for one that was given up
	 * before it began: then `work` was not called. */
	void (*done)(struct job *);
};

struct jobs;

struct jobs *jobs__new(void); /* NULL + errno */
/*
 * Gives up what has not begun and waits half a second for what has; a thread that hangs longer is
 * left behind with what it has in hand: false. The program cannot end before it where the kernel
 * does not let it go (a FUSE server that does not answer). Accepts NULL.
 */
bool jobs__free(struct jobs *);

/* With NULL for `jobs` the job is done when this returns. */
void jobs__submit(struct jobs *, struct job *);
/* Takes back what is done; to be called often. How many. */
size_t jobs__collect(struct jobs *);
/* The same until nothing is left, or `patience_ns` have passed: false. */
bool jobs__wait(struct jobs *, uint64_t patience_ns);

/* Gives the threads of the jobs the caller's priority, see priority__lend(). */
void jobs__lend(struct jobs *);

/* Readable when there is something to collect; lives as long as the jobs. */
int jobs__fd(const struct jobs *);

size_t jobs__pending(const struct jobs *); /* submitted and not taken back */

#endif
