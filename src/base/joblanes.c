// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/joblanes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/jobcrowd.h"

#define CROWD_MAX      2   /* lanes of one crowd that run or hang at the same time */
#define REMEMBERED_MAX 256 /* kept lanes, unless more have jobs */

/* All users together: the threads that remain are for disks. */
#define DISKLESS_BUSY_MAX 4  /* lanes that run at the same time, without those that hang */
#define DISKLESS_HUNG_MAX 48 /* then no job in another lane without a disk is done */

/* Forgets the oldest lane without jobs. Lanes with jobs stay, so the loop is bounded by the number
 * of threads and jobs. */
static void job_lanes_forget_one(struct job_lanes *s)
{
	struct job_lane *l, *next;

	HASH_ITER (hh, s->by_id, l, next) {
		if (l->job_cnt)
			continue;
		HASH_DEL(s->by_id, l);
		free(l);
		return;
	}
}

static struct job_lane *job_lanes_get(struct job_lanes *s, uint64_t id)
{
	struct job_lane *l;

	HASH_FIND(hh, s->by_id, &id, sizeof(id), l);
	if (l)
		return l;
	if (HASH_COUNT(s->by_id) >= REMEMBERED_MAX)
		job_lanes_forget_one(s);
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->id = id;
	HASH_ADD(hh, s->by_id, id, sizeof(l->id), l);
	if (HASH_ADDED(l))
		return l;
	free(l);
	return NULL;
}

/* A job of an unknown user does not make the lane shared, because shared lanes have no limit of
 * their own. */
static void job_lane_set_crowd(struct job_lane *l, uint64_t crowd)
{
	bool first = !l->crowd || l->crowd == JOB_CROWD_UNKNOWN;

	l->diskless = true;
	if (crowd == JOB_CROWD_UNKNOWN && (l->crowd || l->shared))
		return;
	l->shared |= crowd == JOB_CROWD_ROOT || (!first && l->crowd != crowd);
	l->crowd = l->shared ? 0 : crowd;
}

struct job_lane *job_lanes__join(struct job_lanes *s, uint64_t id, uint64_t crowd)
{
	struct job_lane *l = job_lanes_get(s, id);

	if (!l)
		return NULL;
	l->job_cnt++;
	if (crowd)
		job_lane_set_crowd(l, crowd);
	return l;
}

void job_lanes__leave(struct job_lanes *s, struct job_lane *l)
{
	assert(l->job_cnt);
	l->job_cnt--;
	if (HASH_COUNT(s->by_id) > REMEMBERED_MAX && !l->job_cnt) {
		HASH_DEL(s->by_id, l);
		free(l);
	}
}

void job_lanes__begin(struct job_lanes *s, struct job_lane *l)
{
	assert(l->state == LANE_FREE && s->busy_cnt < LANES_BUSY_MAX);
	l->state = LANE_BUSY;
	s->busy[s->busy_cnt++] = l;
}

void job_lanes__end(struct job_lanes *s, struct job_lane *l)
{
	size_t i = 0;

	while (s->busy[i] != l)
		i++;
	s->busy[i] = s->busy[--s->busy_cnt];
	l->state = LANE_FREE;
}

void job_lanes__free(struct job_lanes *s)
{
	struct job_lane *l, *next;

	HASH_ITER (hh, s->by_id, l, next) {
		HASH_DEL(s->by_id, l);
		free(l);
	}
}

/* Counts the crowd's lanes that are in that state or a worse one. */
static size_t job_lanes_of_crowd(const struct job_lanes *s, uint64_t crowd,
				 enum job_lane_state state)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->busy_cnt; i++)
		cnt += s->busy[i]->crowd == crowd && s->busy[i]->state >= state;
	return cnt;
}

/* Counts the lanes without a disk that hang, or that run and do not hang. */
static size_t job_lanes_diskless(const struct job_lanes *s, enum job_lane_state state)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->busy_cnt; i++)
		cnt += s->busy[i]->diskless && s->busy[i]->state == state;
	return cnt;
}

bool job_lanes__may_begin(const struct job_lanes *s, const struct job_lane *l)
{
	return l->state == LANE_FREE &&
	       (!l->diskless || job_lanes_diskless(s, LANE_BUSY) < DISKLESS_BUSY_MAX) &&
	       (!l->crowd || job_lanes_of_crowd(s, l->crowd, LANE_BUSY) < CROWD_MAX);
}

bool job_lanes__is_hopeless(const struct job_lanes *s, const struct job_lane *l)
{
	if (l->state != LANE_FREE)
		return l->crowd && l->state == LANE_HUNG;
	if (l->diskless && job_lanes_diskless(s, LANE_HUNG) >= DISKLESS_HUNG_MAX)
		return true;
	return l->crowd && job_lanes_of_crowd(s, l->crowd, LANE_HUNG) >= CROWD_MAX;
}
