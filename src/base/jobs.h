/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may wait for a disk, a network or a user's file system, done by separate threads, so
 * that the thread that reads rings can submit it and continue. One thread does all jobs as long as
 * it makes progress. While it is blocked, another thread takes over, so that a file that never
 * answers blocks only the jobs of its own lane.
 */
#ifndef BASE_JOBS_H
#define BASE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jobcrowd.h"

/* The order of waiting jobs. JOB_FIRST jobs run with the priority of the thread that created the
 * jobs, because it waits for them. */
enum job_rank { JOB_FIRST, JOB_NEXT, JOB_LAST, JOB_RANK_CNT };

/* The submitter allocates it, as a part of the struct that `work` and `done` use. */
struct job {
	struct job *next;    /* private */
	struct job_lane *at; /* private */
	enum job_rank rank;
	bool slow;	/* it takes long: another thread takes over at once */
	uint64_t lane;	/* jobs of one lane (a device) run one after another */
	uint64_t crowd; /* base/jobcrowd.h */
	/*
	 * NULL, or tests whether the lane answers. Called on a thread before the first job of a
	 * lane, and again some time after it did not answer. Jobs of a lane that does not answer
	 * are returned undone.
	 */
	bool (*probe)(struct job *);
	/*
	 * Runs on a separate thread. May use only data that the job owns or that never changes: it
	 * may continue after everything else has been freed.
	 */
	void (*work)(struct job *);
	/* Set by `work`: a file of the lane did not answer. Unless the lane is a disk, it gets no
	 * jobs for half a minute. */
	bool late;
	/* Called by jobs__collect(), on its thread; returns the job to its owner. Also called for a
	 * job that was dropped before it started: `work` was not called then. */
	void (*done)(struct job *);
};

struct jobs;
struct workers; /* worker/workers.h */

struct jobs *jobs__new(void); /* returns NULL and sets errno on failure */
/*
 * Drops jobs that have not started and waits for the others: half a second after a thread last used
 * CPU time, and two seconds at most. Returns false if a thread still hangs, which keeps its job.
 * The program cannot exit before that thread if the kernel does not release it (a FUSE server that
 * does not answer). Accepts NULL.
 */
bool jobs__free(struct jobs *);

/* Sets the processes in which jobs read the files of others (borrowed); NULL: the jobs' threads
 * read them. Call it before jobs are submitted, and workers__stop() before jobs__free(). */
void jobs__set_workers(struct jobs *, struct workers *);
struct workers *jobs__workers(const struct jobs *); /* accepts NULL */

/* If `jobs` is NULL, runs the job before it returns. */
void jobs__submit(struct jobs *, struct job *);
/* Returns finished jobs to their owners, and their number. Call it often. */
size_t jobs__collect(struct jobs *);
/* Collects until no job is left (true), or until `patience_ns` have passed (false). */
bool jobs__wait(struct jobs *, uint64_t patience_ns);

/* Gives the threads of the jobs the caller's priority, see priority__lend(). */
void jobs__lend(struct jobs *);

/* Returns a descriptor that is readable if there is something to collect; valid as long as the
 * jobs. */
int jobs__fd(const struct jobs *);

size_t jobs__pending(const struct jobs *); /* submitted and not yet returned */

#endif
