// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/joblanes.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"

#define WORKER_MAX  8 /* threads, without those that hang */
#define THREAD_MAX  LANES_BUSY_MAX
#define HELD_UP_NS  100000000	/* after this time another thread takes over */
#define LONG_NS	    2000000000	/* a thread with a job of this age is watched */
#define STILL_NS    1000000000	/* a watched thread without CPU time for this long hangs */
#define PATIENCE_NS 500000000	/* maximum wait in jobs__free() for threads without progress */
#define STOP_NS	    2000000000	/* maximum wait in jobs__free() */
#define DEAD_NS	    30000000000 /* after this time a lane that did not answer is probed again */

struct jobs_queue {
	struct job *first, **end;
};

struct jobs_worker {
	struct jobs *jobs;
	pthread_t thread;
	pid_t tid;		  /* 0: it has not started */
	struct job *in_hand;	  /* the current job; NULL: idle */
	uint64_t cpu_ns, look_ns; /* its CPU time at the last look; the time of the next look */
	bool hung;		  /* does not count as a worker until it returns */
	int nice;
};

struct jobs {
	pthread_mutex_t lock; /* protects the fields below */
	struct bell changed;
	struct jobs_queue todo[JOB_RANK_CNT], done;
	struct jobs_worker workers[THREAD_MAX];
	size_t worker_cnt, busy_cnt, alive_cnt, hung_cnt;
	struct job_lanes lanes;
	uint64_t moved_ns; /* time at which a job was last taken or finished */
	bool stop, orphan; /* orphan: the last thread frees this struct */
	int nice;	   /* of the creator */
	int fd;		   /* readable if `done` is not empty */
	size_t pending;	   /* used by the submitting thread only, like the next */
	struct workers *processes;
};

static void queue__init(struct jobs_queue *q)
{
	*q = (struct jobs_queue){ .end = &q->first };
}

static void queue__add(struct jobs_queue *q, struct job *j)
{
	j->next = NULL;
	*q->end = j;
	q->end = &j->next;
}

static struct job *queue__remove(struct jobs_queue *q, struct job **at)
{
	struct job *j = *at;

	*at = j->next;
	if (!*at)
		q->end = at;
	return j;
}

/* ---- the threads --------------------------------------------------------------------------------
 */

/* Removes the first job of the best rank that may begin, or that must be returned undone. Returns
 * NULL if there is none. */
static struct job *jobs_take(struct jobs *s)
{
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		for (struct job **at = &s->todo[r].first; *at; at = &(*at)->next)
			if (job_lanes__may_begin(&s->lanes, (*at)->at) ||
			    job_lanes__is_hopeless(&s->lanes, (*at)->at))
				return queue__remove(&s->todo[r], at);
	return NULL;
}

static void jobs_set_priority(struct jobs_worker *w, enum job_rank rank)
{
	int nice = rank > JOB_FIRST && w->jobs->nice < 0 ? 0 : w->jobs->nice;

	if (nice != w->nice)
		setpriority(PRIO_PROCESS, 0, nice);
	w->nice = nice;
}

/* Returns whether the lane answers. Must hold the lock; releases it during the probe, when no other
 * thread works on the lane. */
static bool jobs_answers(struct jobs *s, struct job *j)
{
	struct job_lane *l = j->at;
	bool dead = l->dead_until_ns > 0, ok;

	if (dead && monotonic__ns() < l->dead_until_ns)
		return false;
	if (!j->probe || (l->probed && !dead))
		return !dead || !l->probe_failed;
	pthread_mutex_unlock(&s->lock);
	ok = j->probe(j);
	pthread_mutex_lock(&s->lock);
	l->probed = true;
	l->probe_failed = !ok;
	l->dead_until_ns = ok ? 0 : monotonic__ns() + DEAD_NS;
	return ok;
}

static void jobs_give_back(struct jobs *s, struct job *j)
{
	if (j->at)
		job_lanes__leave(&s->lanes, j->at);
	if (!s->done.first)
		eventfd_write(s->fd, 1);
	s->moved_ns = monotonic__ns();
	queue__add(&s->done, j);
	bell__ring(&s->changed);
}

static void jobs_begin(struct jobs_worker *w, struct job *j)
{
	w->in_hand = j;
	w->cpu_ns = UINT64_MAX;
	w->jobs->moved_ns = monotonic__ns();
	w->look_ns = w->jobs->moved_ns + LONG_NS;
	w->jobs->busy_cnt++;
	job_lanes__begin(&w->jobs->lanes, j->at);
}

static void jobs_end(struct jobs_worker *w)
{
	w->jobs->hung_cnt -= w->hung;
	w->hung = false;
	job_lanes__end(&w->jobs->lanes, w->in_hand->at);
	w->in_hand = NULL;
	w->jobs->busy_cnt--;
}

static void jobs_work_off(struct jobs_worker *w, struct job *j)
{
	struct jobs *s = w->jobs;

	if (!job_lanes__is_hopeless(&s->lanes, j->at)) {
		jobs_begin(w, j);
		if (jobs_answers(s, j)) {
			pthread_mutex_unlock(&s->lock);
			jobs_set_priority(w, j->rank);
			j->work(j);
			pthread_mutex_lock(&s->lock);
			if (j->late && j->at->diskless)
				j->at->dead_until_ns = monotonic__ns() + DEAD_NS;
		}
		jobs_end(w);
	}
	jobs_give_back(s, j);
}

static void jobs_destroy(struct jobs *s)
{
	pthread_mutex_destroy(&s->lock);
	job_lanes__free(&s->lanes);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static void *jobs_run(void *arg)
{
	struct jobs_worker *w = arg;
	struct jobs *s = w->jobs;
	bool last;

	w->nice = getpriority(PRIO_PROCESS, 0);
	pthread_mutex_lock(&s->lock);
	w->tid = thread__tid();
	while (!s->stop) {
		struct job *j = jobs_take(s);

		if (j)
			jobs_work_off(w, j);
		else
			bell__wait(&s->changed, &s->lock, UINT64_MAX);
	}
	last = --s->alive_cnt == 0 && s->orphan;
	pthread_mutex_unlock(&s->lock);
	if (last)
		jobs_destroy(s);
	return NULL;
}

/* Returns 0 or an errno. */
static int jobs_start(struct jobs *s)
{
	struct jobs_worker *w = &s->workers[s->worker_cnt];
	int err;

	w->jobs = s;
	err = thread__start(&w->thread, jobs_run, w);
	s->worker_cnt += !err;
	s->alive_cnt += !err;
	return err;
}

static bool jobs_any_todo(const struct jobs *s)
{
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		if (s->todo[r].first)
			return true;
	return false;
}

/* Returns whether all current jobs are slow. */
static bool jobs_all_are_slow(const struct jobs *s)
{
	size_t slow_cnt = 0;

	for (size_t i = 0; i < s->worker_cnt; i++)
		slow_cnt += s->workers[i].in_hand && s->workers[i].in_hand->slow;
	return slow_cnt == s->busy_cnt;
}

/* Returns the CPU time of the thread. A read that makes progress uses some; a read that gets no
 * answer uses none. */
static uint64_t jobs_cpu_ns(const struct jobs_worker *w)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(w->thread, &clock) == 0)
		clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void jobs_set_hung(struct jobs_worker *w)
{
	struct jobs *s = w->jobs;

	w->hung = true;
	s->hung_cnt++;
	w->in_hand->at->state = LANE_HUNG;
	bell__ring(&s->changed); /* jobs that wait for this lane are returned undone */
}

/* Returns whether the thread makes no progress: compares its CPU time when it has had the job for
 * LONG_NS, and then every STILL_NS. */
static bool jobs_is_still(struct jobs_worker *w, uint64_t now_ns)
{
	uint64_t before_ns = w->cpu_ns;

	if (now_ns < w->look_ns)
		return false;
	w->cpu_ns = jobs_cpu_ns(w);
	w->look_ns = now_ns + STILL_NS;
	return w->cpu_ns == before_ns;
}

static void jobs_find_hung(struct jobs *s)
{
	uint64_t now_ns = monotonic__ns();

	for (size_t i = 0; i < s->worker_cnt; i++) {
		struct jobs_worker *w = &s->workers[i];

		if (w->in_hand && !w->hung && !w->in_hand->slow && jobs_is_still(w, now_ns))
			jobs_set_hung(w);
	}
}

/* Starts another thread if all threads that do not hang are blocked. */
static void jobs_relieve(struct jobs *s)
{
	jobs_find_hung(s);
	if (s->busy_cnt == s->worker_cnt && s->worker_cnt - s->hung_cnt < WORKER_MAX &&
	    s->worker_cnt < THREAD_MAX && jobs_any_todo(s) &&
	    (jobs_all_are_slow(s) || s->hung_cnt == s->busy_cnt ||
	     monotonic__ns() - s->moved_ns >= HELD_UP_NS))
		jobs_start(s);
}

/* ---- for the thread that submits ----------------------------------------------------------------
 */

void jobs__submit(struct jobs *s, struct job *j)
{
	if (!s) {
		j->work(j);
		j->done(j);
		return;
	}
	if (s->stop) {
		j->done(j);
		return;
	}
	s->pending++;
	pthread_mutex_lock(&s->lock);
	j->at = job_lanes__join(&s->lanes, j->lane, j->crowd);
	if (j->at)
		queue__add(&s->todo[j->rank], j);
	else
		jobs_give_back(s, j);
	bell__ring(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

size_t jobs__collect(struct jobs *s)
{
	struct job *j, *next;
	eventfd_t told;
	size_t cnt = 0;

	if (!s->pending)
		return 0;
	pthread_mutex_lock(&s->lock);
	j = s->done.first;
	if (j)
		eventfd_read(s->fd, &told);
	queue__init(&s->done);
	jobs_relieve(s);
	pthread_mutex_unlock(&s->lock);
	for (; j; j = next, cnt++) {
		next = j->next;
		s->pending--;
		j->done(j);
	}
	return cnt;
}

int jobs__fd(const struct jobs *s)
{
	return s->fd;
}

size_t jobs__pending(const struct jobs *s)
{
	return s ? s->pending : 0;
}

/* Waits for a change, or until it is time to look for blocked threads. Must hold the lock. */
static void jobs_wait_for_change(struct jobs *s, uint64_t until_ns)
{
	uint64_t next_ns = monotonic__ns() + HELD_UP_NS;

	bell__wait(&s->changed, &s->lock, next_ns < until_ns ? next_ns : until_ns);
}

static void jobs_lend(const struct jobs *s)
{
	for (size_t i = 0; i < s->worker_cnt; i++)
		priority__lend(s->workers[i].tid);
}

void jobs__set_workers(struct jobs *s, struct workers *workers)
{
	s->processes = workers;
}

struct workers *jobs__workers(const struct jobs *s)
{
	return s ? s->processes : NULL;
}

void jobs__lend(struct jobs *s)
{
	pthread_mutex_lock(&s->lock);
	jobs_lend(s);
	pthread_mutex_unlock(&s->lock);
}

bool jobs__wait(struct jobs *s, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic__ns() + patience_ns;

	jobs__collect(s);
	while (s->pending && monotonic__ns() < until_ns) {
		pthread_mutex_lock(&s->lock);
		jobs_lend(s);
		if (!s->done.first)
			jobs_wait_for_change(s, until_ns);
		pthread_mutex_unlock(&s->lock);
		jobs__collect(s);
	}
	return s->pending == 0;
}

/* ---- creation -----------------------------------------------------------------------------------
 */

struct jobs *jobs__new(void)
{
	struct jobs *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		queue__init(&s->todo[r]);
	queue__init(&s->done);
	/* The submitter may be a real-time thread; workers never are. */
	priority__init_lock(&s->lock);
	s->nice = getpriority(PRIO_PROCESS, 0);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->fd < 0 ? errno : jobs_start(s);
	if (!err)
		return s;
	jobs__free(s);
	return errno = err, NULL;
}

/* Returns the CPU time of the threads that have a job. */
static uint64_t jobs_busy_cpu_ns(const struct jobs *s)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < s->worker_cnt; i++)
		sum_ns += s->workers[i].in_hand ? jobs_cpu_ns(&s->workers[i]) : 0;
	return sum_ns;
}

/* Waits until no thread has a job, or none makes progress. On a busy machine a thread may wait for
 * a CPU for longer than its job takes. Must hold the lock. */
static void jobs_wait_for_threads(struct jobs *s)
{
	uint64_t now_ns = monotonic__ns(), last_ns = now_ns + STOP_NS;
	uint64_t until_ns = now_ns + PATIENCE_NS, used_ns = jobs_busy_cpu_ns(s), before_ns;

	while (s->busy_cnt > s->hung_cnt && now_ns < until_ns && now_ns < last_ns) {
		jobs_wait_for_change(s, until_ns);
		now_ns = monotonic__ns();
		before_ns = used_ns;
		used_ns = jobs_busy_cpu_ns(s);
		if (used_ns != before_ns)
			until_ns = now_ns + PATIENCE_NS;
	}
}

/* Stops the threads. Returns true if none has a job. */
static bool jobs_stop(struct jobs *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	s->stop = true;
	jobs_lend(s);
	bell__ring(&s->changed);
	jobs_wait_for_threads(s);
	idle = s->busy_cnt == 0;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

bool jobs__free(struct jobs *s)
{
	bool idle, last;

	if (!s)
		return true;
	idle = jobs_stop(s);
	for (size_t i = 0; i < s->worker_cnt; i++)
		idle ? pthread_join(s->workers[i].thread, NULL)
		     : pthread_detach(s->workers[i].thread);
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		while (s->todo[r].first)
			queue__add(&s->done, queue__remove(&s->todo[r], &s->todo[r].first));
	jobs__collect(s);
	pthread_mutex_lock(&s->lock);
	s->orphan = true;
	last = s->alive_cnt == 0;
	pthread_mutex_unlock(&s->lock);
	if (last)
		jobs_destroy(s);
	return idle;
}
