/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the lanes of jobs (base/jobs.h). Private to jobs.c, under its lock. */
#ifndef BASE_JOBLANES_H
#define BASE_JOBLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define LANES_BUSY_MAX 64 /* one per thread */

enum job_lane_state {
	LANE_FREE,
	LANE_BUSY, /* a thread works on one of its jobs */
	LANE_HUNG, /* a thread does, without progress */
};

struct job_lane {
	uint64_t id;
	uint64_t crowd; /* the only crowd with jobs in it; 0: none, or several */
	bool shared;	/* several crowds, or root, have had jobs in it */
	bool diskless;	/* a job named a crowd: the lane's file system may hang */
	bool probed;
	bool probe_failed;
	uint64_t dead_until_ns; /* 0: its probe has not failed, and no job was late */
	enum job_lane_state state;
	size_t job_cnt; /* submitted jobs that have not been returned */
	UT_hash_handle hh;
};

/* Zero-initialized. */
struct job_lanes {
	struct job_lane *by_id; /* oldest first */
	struct job_lane *busy[LANES_BUSY_MAX];
	size_t busy_cnt;
};

/* Adds a job to the lane, which is created if it is new. `crowd` is the job's (struct job). Returns
 * NULL without memory. */
struct job_lane *job_lanes__join(struct job_lanes *, uint64_t id, uint64_t crowd);
/* Removes a job from its lane. A lane without jobs is kept until there are many others. */
void job_lanes__leave(struct job_lanes *, struct job_lane *);
/* A thread starts one of the lane's jobs. */
void job_lanes__begin(struct job_lanes *, struct job_lane *);
/* The thread has finished the job. */
void job_lanes__end(struct job_lanes *, struct job_lane *);
void job_lanes__free(struct job_lanes *);

/* Returns true if a job of the lane may begin now. */
bool job_lanes__may_begin(const struct job_lanes *, const struct job_lane *);
/* Returns true if a job of the lane must be returned undone: the lane hangs, or the crowd that it
 * belongs to has reached its limit of hung threads. */
bool job_lanes__is_hopeless(const struct job_lanes *, const struct job_lane *);

#endif
