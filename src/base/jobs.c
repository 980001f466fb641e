// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"

#define WORKER_MAX  8		/* so many lanes may hang */
#define HELD_UP_NS  100000000	/* from then on another thread takes over */
#define PATIENCE_NS 1000000000	/* at the end */
#define LANES	    64		/* that were probed and are remembered */
#define DEAD_NS	    30000000000 /* until one that did not answer is probed again */

struct queue {
	struct job *first, **end;
};

struct worker {
	struct jobs *jobs;
	pthread_t thread;
	pid_t tid;	     /* 0: it has not begun */
	struct job *in_hand; /* NULL: idle */
	uint64_t lane;	     /* of what is in hand */
	int nice;
};

struct lane {
	uint64_t id, dead_until_ns; /* 0: it answered */
	bool known;
};

struct jobs {
	pthread_mutex_t lock; /* of what follows */
	struct bell changed;
	struct queue todo[JOB_RANK_CNT], done;
	struct worker workers[WORKER_MAX];
	size_t worker_cnt, busy_cnt, alive_cnt;
	struct lane lanes[LANES];
	size_t next_lane;
	uint64_t moved_ns; /* when a job was last taken or finished */
	bool stop, orphan; /* the last thread frees it */
	int nice;	   /* of who made us */
	int fd;		   /* readable when `done` is not empty */
	size_t pending;	   /* of the submitting thread */
};

static void queue__init(struct queue *q)
{
	*q = (struct queue){ .end = &q->first };
}

static void queue__add(struct queue *q, struct job *j)
{
	j->next = NULL;
	*q->end = j;
	q->end = &j->next;
}

static struct job *queue__remove(struct queue *q, struct job **at)
{
	struct job *j = *at;

	*at = j->next;
	if (!*at)
		q->end = at;
	return j;
}

/* ---- the threads --------------------------------------------------------------------------------
 */

static bool is_free(const struct jobs *s, uint64_t lane)
{
	for (size_t i = 0; i < s->worker_cnt; i++)
		if (s->workers[i].in_hand && s->workers[i].lane == lane)
			return false;
	return true;
}

/* The first of the best rank whose lane is free; NULL: none. */
static struct job *take(struct jobs *s)
{
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		for (struct job **at = &s->todo[r].first; *at; at = &(*at)->next)
			if (is_free(s, (*at)->lane))
				return queue__remove(&s->todo[r], at);
	return NULL;
}

static void set_priority(struct worker *w, enum job_rank rank)
{
	int nice = rank > JOB_FIRST && w->jobs->nice < 0 ? 0 : w->jobs->nice;

	if (nice != w->nice)
		setpriority(PRIO_PROCESS, 0, nice);
	w->nice = nice;
}

static struct lane *find_lane(struct jobs *s, uint64_t id)
{
	for (size_t i = 0; i < LANES; i++)
		if (s->lanes[i].known && s->lanes[i].id == id)
			return &s->lanes[i];
	return NULL;
}

/* The one that was probed first goes for it when it is new. */
static void remember_lane(struct jobs *s, uint64_t id, uint64_t dead_until_ns)
{
	struct lane *l = find_lane(s, id);

	if (!l)
		l = &s->lanes[s->next_lane++ % LANES];
	*l = (struct lane){ id, dead_until_ns, true };
}

/* The lock is held, but while the lane is being probed: nobody else works on it then. */
static bool answers(struct jobs *s, struct job *j)
{
	const struct lane *l = find_lane(s, j->lane);
	bool dead = l && l->dead_until_ns, ok;

	if (!j->probe || (l && (!dead || monotonic__ns() < l->dead_until_ns)))
		return !dead;
	pthread_mutex_unlock(&s->lock);
	ok = j->probe(j);
	pthread_mutex_lock(&s->lock);
	remember_lane(s, j->lane, ok ? 0 : monotonic__ns() + DEAD_NS);
	return ok;
}

static void work_off(struct worker *w, struct job *j)
{
	struct jobs *s = w->jobs;

	w->in_hand = j;
	w->lane = j->lane;
	s->busy_cnt++;
	s->moved_ns = monotonic__ns();
	if (answers(s, j)) {
		pthread_mutex_unlock(&s->lock);
		set_priority(w, j->rank);
		j->work(j);
		pthread_mutex_lock(&s->lock);
	}
	if (!s->done.first)
		eventfd_write(s->fd, 1);
	w->in_hand = NULL;
	s->busy_cnt--;
	s->moved_ns = monotonic__ns();
	queue__add(&s->done, j);
	bell__ring(&s->changed);
}

static void destroy(struct jobs *s)
{
	pthread_mutex_destroy(&s->lock);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct jobs *s = w->jobs;
	bool last;

	w->nice = getpriority(PRIO_PROCESS, 0);
	pthread_mutex_lock(&s->lock);
	w->tid = thread__tid();
	while (!s->stop) {
		struct job *j = take(s);

		if (j)
			work_off(w, j);
		else
			bell__wait(&s->changed, &s->lock, UINT64_MAX);
	}
	last = --s->alive_cnt == 0 && s->orphan;
	pthread_mutex_unlock(&s->lock);
	if (last)
		destroy(s);
	return NULL;
}

/* 0 or an errno. */
static int start(struct jobs *s)
{
	struct worker *w = &s->workers[s->worker_cnt];
	int err;

	w->jobs = s;
	err = thread__start(&w->thread, run, w);
	s->worker_cnt += !err;
	s->alive_cnt += !err;
	return err;
}

static bool any_todo(const struct jobs *s)
{
	for (size_t r = 0; r < JOB_RANK_CNT; r++)
		if (s->todo[r].first)
			return true;
	return false;
}

/* Of those that work. */
static bool all_are_slow(const struct jobs *s)
{
	size_t slow_cnt = 0;

	for (size_t i = 0; i < s->worker_cnt; i++)
		slow_cnt += s->workers[i].in_hand && s->workers[i].in_hand->slow;
	return slow_cnt == s->busy_cnt;
}

static void relieve(struct jobs *s)
{
	if (s->busy_cnt == s->worker_cnt && s->worker_cnt < WORKER_MAX && any_todo(s) &&
	    (all_are_slow(s) || monotonic__ns() - s->moved_ns >= HELD_UP_NS))
		start(s);
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
	queue__add(&s->todo[j->rank], j);
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
	relieve(s);
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

/* Until something has changed, or it is time to see who is held up. The lock is held. */
static void wait_for_change(struct jobs *s, uint64_t until_ns)
{
	uint64_t next_ns = monotonic__ns() + HELD_UP_NS;

	bell__wait(&s->changed, &s->lock, next_ns < until_ns ? next_ns : until_ns);
}

bool jobs__wait(struct jobs *s, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic__ns() + patience_ns;

	jobs__collect(s);
	while (s->pending && monotonic__ns() < until_ns) {
		pthread_mutex_lock(&s->lock);
		for (size_t i = 0; i < s->worker_cnt; i++)
			priority__lend(s->workers[i].tid);
		if (!s->done.first)
			wait_for_change(s, until_ns);
		pthread_mutex_unlock(&s->lock);
		jobs__collect(s);
	}
	return s->pending == 0;
}

/* ---- life ---------------------------------------------------------------------------------------
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
	priority__init_lock(
		&s->lock); /* who submits may be a real-time thread, who works never is */
	s->nice = getpriority(PRIO_PROCESS, 0);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->fd < 0 ? errno : start(s);
	if (!err)
		return s;
	jobs__free(s);
	return errno = err, NULL;
}

/* True when no thread has anything in hand. */
static bool stop(struct jobs *s)
{
	uint64_t until_ns = monotonic__ns() + PATIENCE_NS;
	bool idle;

	pthread_mutex_lock(&s->lock);
	s->stop = true;
	for (size_t i = 0; i < s->worker_cnt; i++)
		priority__lend(s->workers[i].tid);
	bell__ring(&s->changed);
	while (s->busy_cnt && monotonic__ns() < until_ns)
		wait_for_change(s, until_ns);
	idle = s->busy_cnt == 0;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

bool jobs__free(struct jobs *s)
{
	bool idle, last;

	if (!s)
		return true;
	idle = stop(s);
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
		destroy(s);
	return idle;
}
