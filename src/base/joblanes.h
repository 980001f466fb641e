/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the lanes of jobs (base/jobs.h). Private to jobs.c, under its lock. */
#ifndef BASE_JOBLANES_H
#define BASE_JOBLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define LANES_BUSY_MAX 64 /* one for each thread */

enum job_lane_state {
	LANE_FREE,
	LANE_BUSY, /* a thread works on one of its jobs */
	LANE_HUNG, /* a thread does, and makes no progress */
};

struct job_lane {
	uint64_t id;
	uint64_t crowd; /* the only one that has had jobs in it; 0: none, or several */
	bool shared;	/* several crowds, or root, have had jobs in it */
	bool probed;
	uint64_t dead_until_ns; /* 0: its probe did not fail */
	enum job_lane_state state;
	size_t job_cnt; /* that were submitted and are not given back */
	UT_hash_handle hh;
};

/* All zeros is one without lanes. */
struct job_lanes {
	struct job_lane *by_id; /* the oldest first */
	struct job_lane *busy[LANES_BUSY_MAX];
	size_t busy_cnt;
};

/* Adds a job to the lane, which is made if it is new. `crowd` is the job's (struct job). Returns
 * NULL without memory. */
struct job_lane *job_lanes__join(struct job_lanes *, uint64_t id, uint64_t crowd);
/* Takes a job out of its lane. A lane without jobs is remembered until there are many others. */
void job_lanes__leave(struct job_lanes *, struct job_lane *);
void job_lanes__begin(struct job_lanes *,
		      struct job_lane *); /* a thread works on one of its jobs now */
void job_lanes__end(struct job_lanes *, struct job_lane *); /* it does so no longer */
void job_lanes__free(struct job_lanes *);

/* Returns true if a job of the lane may begin now. */
bool job_lanes__may_begin(const struct job_lanes *, const struct job_lane *);
/* Returns true if a job of the lane is to be given back undone: the lane hangs, or the crowd that
 * it belongs to hangs as many threads as it may. */
bool job_lanes__is_hopeless(const struct job_lanes *, const struct job_lane *);

#endif
