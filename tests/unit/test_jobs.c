// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs on threads: a blocked job blocks no other lane. */
#include "lib/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jobs.h"
#include "base/monotonic.h"

#define SECOND	1000000000ull
#define JOB_MAX 64

struct rig;

struct step {
	struct job job;
	struct rig *rig;
	char name;
	_Atomic bool worked; /* set last: nothing else of the step is used afterwards */
	int gate[2];	     /* `work` waits for a byte; -1: it does not wait */
};

struct rig {
	struct jobs *jobs;
	struct step steps[JOB_MAX];
	size_t cnt;
	pthread_mutex_t lock;
	char worked[JOB_MAX + 1], done[JOB_MAX + 1]; /* names, in this order */
	int probes;
};

/* The rig of the thread that was left behind, which may use its job at any time. */
static struct rig *left_behind;

static void work(struct job *j)
{
	struct step *s = (struct step *)j;
	char byte;

	if (s->gate[0] >= 0)
		assert_int_equal(read(s->gate[0], &byte, 1), 1);
	pthread_mutex_lock(&s->rig->lock);
	strncat(s->rig->worked, &s->name, 1);
	pthread_mutex_unlock(&s->rig->lock);
	s->worked = true;
}

static void done(struct job *j)
{
	struct step *s = (struct step *)j;

	strncat(s->rig->done, &s->name, 1);
}

static struct step *add(struct rig *r, char name, enum job_rank rank, uint64_t lane)
{
	struct step *s = &r->steps[r->cnt++];

	*s = (struct step){
		.job = { .rank = rank, .lane = lane, .work = work, .done = done },
		.rig = r,
		.name = name,
		.gate = { -1, -1 },
	};
	return s;
}

static struct step *submit(struct rig *r, char name, enum job_rank rank, uint64_t lane)
{
	struct step *s = add(r, name, rank, lane);

	jobs__submit(r->jobs, &s->job);
	return s;
}

/* Its work does not end before pass(). */
static struct step *submit_slow(struct rig *r, char name, uint64_t lane)
{
	struct step *s = add(r, name, JOB_FIRST, lane);

	assert_int_equal(pipe(s->gate), 0);
	jobs__submit(r->jobs, &s->job);
	return s;
}

static struct step *submit_of(struct rig *r, char name, uint64_t lane, uint64_t crowd)
{
	struct step *s = add(r, name, JOB_FIRST, lane);

	s->job.crowd = crowd;
	assert_int_equal(pipe(s->gate), 0);
	jobs__submit(r->jobs, &s->job);
	return s;
}

static void pass(struct step *s)
{
	assert_int_equal(write(s->gate[1], "x", 1), 1);
}

static void wait_for(struct rig *r)
{
	assert_true(jobs__wait(r->jobs, 60 * SECOND));
	assert_int_equal(jobs__pending(r->jobs), 0);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	r->jobs = jobs__new();
	*state = r;
	return r->jobs ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	assert_true(jobs__free(r->jobs));
	for (size_t i = 0; i < r->cnt; i++) {
		close(r->steps[i].gate[0]);
		close(r->steps[i].gate[1]);
	}
	if (r != left_behind)
		free(r);
	return 0;
}

static void better_ranks_go_first(void **state)
{
	struct rig *r = *state;
	struct step *slow = submit_slow(r, 's', 1);

	submit(r, 'c', JOB_LAST, 1);
	submit(r, 'b', JOB_NEXT, 1);
	submit(r, 'B', JOB_NEXT, 1);
	submit(r, 'a', JOB_FIRST, 1);
	assert_int_equal(jobs__collect(r->jobs), 0);
	assert_int_equal(jobs__pending(r->jobs), 5);
	pass(slow);
	wait_for(r);
	assert_string_equal(r->worked, "sabBc");
	assert_string_equal(r->done, "sabBc");
}

/* Waits until that many are done. */
static void wait_for_some(struct rig *r, size_t cnt)
{
	for (uint64_t until = monotonic__ns() + 60 * SECOND; strlen(r->done) < cnt; usleep(1000)) {
		jobs__collect(r->jobs);
		assert_true(monotonic__ns() < until);
	}
}

/* Seven lanes hang; the eighth goes on, and jobs that wait for the seven keep their places. */
static void a_hanging_job_blocks_only_its_lane(void **state)
{
	struct rig *r = *state;
	struct step *slow[7];

	for (size_t i = 0; i < 7; i++)
		slow[i] = submit_slow(r, (char)('1' + i), i);
	submit(r, 'x', JOB_FIRST, 0);
	submit(r, 'y', JOB_LAST, 7);
	wait_for_some(r, 1);
	assert_string_equal(r->done, "y");
	pass(slow[0]);
	assert_false(jobs__wait(r->jobs, SECOND / 100));
	wait_for_some(r, 3);
	assert_string_equal(r->done, "y1x");
	for (size_t i = 1; i < 7; i++)
		pass(slow[i]);
	wait_for(r);
	assert_int_equal(strlen(r->done), 9);
}

/* Jobs that have not started are returned undone. */
static void a_hanging_job_is_left_behind_at_the_end(void **state)
{
	struct rig *r = *state;
	struct step *hung = submit_slow(r, 'h', 1), *undone;
	uint64_t from_ns = monotonic__ns();

	usleep(20000);
	undone = submit(r, 'u', JOB_FIRST, 1);
	assert_false(jobs__free(r->jobs));
	r->jobs = NULL;
	left_behind = r;
	assert_in_range(monotonic__ns() - from_ns, SECOND / 2, 60 * SECOND);
	assert_string_equal(r->done, "u");
	assert_false(undone->worked);
	pass(hung); /* it finds no owner, and ends */
	while (!hung->worked)
		usleep(1000);
}

static bool never(struct job *j)
{
	__atomic_add_fetch(&((struct step *)j)->rig->probes, 1, __ATOMIC_RELAXED);
	return false;
}

static bool always(struct job *j)
{
	return !never(j);
}

/* A lane is probed once; no job of a lane that does not answer runs. */
static void a_dead_lane_is_left_alone(void **state)
{
	struct rig *r = *state;
	struct step *first = add(r, 'a', JOB_FIRST, 1), *good = add(r, 'c', JOB_FIRST, 2);

	first->job.probe = never;
	good->job.probe = always;
	jobs__submit(r->jobs, &first->job);
	submit(r, 'b', JOB_NEXT, 1);
	jobs__submit(r->jobs, &good->job);
	submit(r, 'd', JOB_LAST, 2);
	wait_for(r);
	assert_int_equal(strlen(r->done), 4);
	assert_string_equal(r->worked, "cd");
	assert_int_equal(r->probes, 2);
}

static void without_threads_jobs_run_at_once(void **state)
{
	struct rig *r = *state;
	struct step *s = add(r, 'a', JOB_FIRST, 1);

	jobs__submit(NULL, &s->job);
	assert_string_equal(r->worked, "a");
	assert_string_equal(r->done, "a");
	assert_int_equal(jobs__pending(NULL), 0);
	jobs__free(NULL);
}

/* Hung threads do not count: there is always another one. */
static void hung_threads_are_replaced(void **state)
{
	struct rig *r = *state;
	struct step *hung[12];

	for (size_t i = 0; i < 12; i++)
		hung[i] = submit_of(r, 'h', 100 + i, 1 + i);
	submit(r, 'g', JOB_LAST, 1);
	wait_for_some(r, 1);
	assert_string_equal(r->done, "g");
	for (size_t i = 0; i < 12; i++)
		pass(hung[i]);
	wait_for(r);
}

/* A third lane of one crowd is not tried, and jobs that wait for a hung lane are returned. */
static void two_lanes_of_a_crowd_may_hang(void **state)
{
	struct rig *r = *state;
	struct step *hung[2], *others[3];

	for (size_t i = 0; i < 2; i++)
		hung[i] = submit_of(r, 'h', 100 + i, 7);
	others[0] = submit_of(r, 'b', 100, 7);
	others[1] = submit_of(r, 'c', 102, 7);
	submit(r, 'g', JOB_LAST, 1);
	wait_for_some(r, 1);
	assert_string_equal(r->done, "g"); /* it waits for none of them */
	wait_for_some(r, 3);
	assert_false(others[0]->worked || others[1]->worked);
	/* A lane with jobs of other crowds, too, counts for none. */
	others[2] = submit_of(r, 's', 103, 7);
	wait_for_some(r, 4);
	assert_false(others[2]->worked);
	others[0] = submit_of(r, 's', 103, JOB_CROWD_ROOT);
	pass(others[0]);
	wait_for_some(r, 5);
	assert_true(others[0]->worked);
	for (size_t i = 0; i < 2; i++)
		pass(hung[i]);
	wait_for(r);
}

/* More lanes than are kept, all of one user: the limit applies. */
static void a_crowd_has_its_bound_in_many_lanes(void **state)
{
	struct rig *r = *state;
	struct step *hung[2], *other;

	for (size_t i = 0; i < 2; i++)
		hung[i] = submit_of(r, 'h', 100 + i, 7);
	for (uint64_t lane = 1000; lane < 1600; lane++) {
		struct step *s = submit(r, 'x', JOB_FIRST, lane);

		wait_for_some(r, 1);
		assert_true(s->worked);
		r->done[0] = r->worked[0] = '\0';
		r->cnt--;
	}
	other = submit_of(r, 'o', 102, 7);
	wait_for_some(r, 1);
	assert_false(other->worked);
	for (size_t i = 0; i < 2; i++)
		pass(hung[i]);
	wait_for(r);
}

/* Many users that hang two lanes each; the job of a disk does not wait until all of them hang. */
static void crowds_leave_threads_for_disks(void **state)
{
	struct rig *r = *state;
	struct step *hung[32], *disk;

	for (size_t i = 0; i < 32; i++)
		hung[i] = submit_of(r, 'h', 100 + i, 7 + i / 2);
	for (uint64_t until = monotonic__ns() + SECOND; monotonic__ns() < until; usleep(1000))
		jobs__collect(r->jobs); /* threads start while the others are blocked */
	disk = submit(r, 'd', JOB_FIRST, 1);
	for (uint64_t until = monotonic__ns() + SECOND / 2; monotonic__ns() < until; usleep(1000))
		jobs__collect(r->jobs);
	assert_string_equal(r->done, "d");
	assert_true(disk->worked);
	for (size_t i = 0; i < 32; i++)
		pass(hung[i]);
	wait_for(r);
}

/* Its processes have ended: the user has no more threads for that. */
static void an_unknown_user_is_a_crowd(void **state)
{
	struct rig *r = *state;
	struct step *other;

	for (size_t i = 0; i < 2; i++)
		submit_of(r, 'h', 100 + i, JOB_CROWD_UNKNOWN);
	other = submit_of(r, 'o', 102, JOB_CROWD_UNKNOWN);
	wait_for_some(r, 1);
	assert_false(other->worked);
	/* A job of an unknown user in a user's lane leaves it that user's. */
	for (size_t i = 0; i < 2; i++)
		submit_of(r, 'k', 200 + i, 7);
	other = submit_of(r, 'p', 202, 7);
	submit_of(r, 'q', 202, JOB_CROWD_UNKNOWN);
	wait_for_some(r, 3);
	assert_false(other->worked);
	for (size_t i = 0; i < r->cnt; i++)
		pass(&r->steps[i]);
	wait_for(r);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(better_ranks_go_first), T(a_hanging_job_blocks_only_its_lane),
	  T(a_hanging_job_is_left_behind_at_the_end), T(a_dead_lane_is_left_alone),
	  T(hung_threads_are_replaced), T(two_lanes_of_a_crowd_may_hang),
	  T(a_crowd_has_its_bound_in_many_lanes), T(crowds_leave_threads_for_disks),
	  T(an_unknown_user_is_a_crowd), T(without_threads_jobs_run_at_once))
