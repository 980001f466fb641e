// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/errand.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/bell.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"

#define PATIENCE_NS  500000000	    /* maximum wait for one errand */
#define IMPATIENT_NS 20000000	    /* maximum wait after many slow errands */
#define CREDIT_NS    1000000000	    /* of slow errands, until then */
#define REFILL	     16		    /* this part of the time is new credit */
#define SLOW_NS	     1000000	    /* shorter waits cost no credit */
#define BARRED_NS    30000000000ull /* after a late return */
#define USERS_MAX    64

/* The errands of this user are not run. */
struct barred {
	uint64_t user_id;
	uint64_t until_ns; /* UINT64_MAX: the errand has not returned */
};

struct runner {
	struct errands *errands;
	pthread_t thread;
	struct errand *errand; /* NULL: idle */
	bool late;	       /* the caller no longer waits; the thread ends after this errand */
};

struct errands {
	pthread_mutex_t lock; /* protects what follows, and the runners */
	struct bell changed;
	struct runner *runner; /* the one that is idle, or that the caller waits for; may be NULL */
	struct barred barred[USERS_MAX];
	size_t barred_cnt;
	uint64_t credit_ns, refilled_ns; /* how long the caller may wait, at that time */
	size_t refs;			 /* of the caller and of each thread */
	bool stop;
};

struct errands *errands__new(void)
{
	struct errands *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	s->credit_ns = CREDIT_NS;
	s->refilled_ns = monotonic__ns();
	priority__init_lock(&s->lock);
	return s;
}

/* Releases the lock. */
static void errands_put(struct errands *s)
{
	bool last = --s->refs == 0;

	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct barred *barred_find(struct errands *s, uint64_t user_id)
{
	for (size_t i = 0; i < s->barred_cnt; i++)
		if (s->barred[i].user_id == user_id)
			return &s->barred[i];
	return NULL;
}

static void barred_expire(struct errands *s)
{
	uint64_t now_ns = monotonic__ns();

	for (size_t i = 0; i < s->barred_cnt;)
		if (s->barred[i].until_ns <= now_ns)
			s->barred[i] = s->barred[--s->barred_cnt];
		else
			i++;
}

/* ---- the runner's thread ------------------------------------------------------------------------
 */

static void runner_return(struct runner *r)
{
	struct errand *e = r->errand;
	struct barred *b = r->late ? barred_find(r->errands, e->user_id) : NULL;

	r->errand = NULL;
	if (b)
		b->until_ns = monotonic__ns() + BARRED_NS;
	if (r->late)
		e->drop(e);
	bell__ring(&r->errands->changed);
}

/* An errand may be late before this thread runs: the thread runs it all the same, because it alone
 * can drop it, and let the user's other errands run again. */
static void *runner_run(void *arg)
{
	struct runner *r = arg;
	struct errands *s = r->errands;

	pthread_mutex_lock(&s->lock);
	while (r->errand || (!r->late && !s->stop)) {
		if (!r->errand) {
			bell__wait(&s->changed, &s->lock, UINT64_MAX);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		r->errand->run(r->errand);
		pthread_mutex_lock(&s->lock);
		runner_return(r);
	}
	free(r);
	errands_put(s);
	return NULL;
}

/* ---- the caller ---------------------------------------------------------------------------------
 */

static struct runner *runner_new(struct errands *s)
{
	struct runner *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->errands = s;
	s->refs++;
	if (thread__start_punctual(&r->thread, runner_run, r) == 0) {
		pthread_detach(r->thread);
		return r;
	}
	s->refs--;
	free(r);
	return NULL;
}

/* Returns true if errands of the errand's user are not run. Must hold the lock. */
static bool errand_is_barred(struct errands *s, struct errand *e)
{
	if (s->barred_cnt == 0)
		return false;
	barred_expire(s);
	if (s->barred_cnt == 0)
		return false;
	e->user_id = e->user(e);
	return s->barred_cnt == USERS_MAX || barred_find(s, e->user_id);
}

/* Abandons the current errand; its thread keeps running. Must hold the lock. */
static void errand_give_up(struct errands *s)
{
	struct errand *e = s->runner->errand;

	e->user_id = e->user(e);
	s->barred[s->barred_cnt++] = (struct barred){ e->user_id, UINT64_MAX };
	s->runner->late = true;
	s->runner = NULL;
}

/*
 * Returns how long to wait for the next errand. Many users can hold locks, and one user can hold
 * his for less than the limit, again and again: all errands together have a limit, too.
 */
static uint64_t errand_patience_ns(struct errands *s, uint64_t now_ns)
{
	s->credit_ns += (now_ns - s->refilled_ns) / REFILL;
	s->refilled_ns = now_ns;
	if (s->credit_ns > CREDIT_NS)
		s->credit_ns = CREDIT_NS;
	if (s->credit_ns > PATIENCE_NS)
		return PATIENCE_NS;
	return s->credit_ns > IMPATIENT_NS ? s->credit_ns : IMPATIENT_NS;
}

static void errand_pay(struct errands *s, uint64_t waited_ns)
{
	if (waited_ns > SLOW_NS)
		s->credit_ns -= waited_ns < s->credit_ns ? waited_ns : s->credit_ns;
}

/* Hands the errand to the runner and waits for it. Must hold the lock. */
static bool errand_run_in_time(struct errands *s, struct errand *e)
{
	uint64_t begin_ns = monotonic__ns(), until_ns = begin_ns + errand_patience_ns(s, begin_ns);

	s->runner->errand = e;
	bell__ring(&s->changed);
	while (s->runner->errand && monotonic__ns() < until_ns)
		bell__wait(&s->changed, &s->lock, until_ns);
	errand_pay(s, monotonic__ns() - begin_ns);
	if (!s->runner->errand)
		return true;
	errand_give_up(s);
	return false;
}

bool errands__run(struct errands *s, struct errand *e)
{
	bool refused, ran;

	if (!s) {
		e->run(e);
		return true;
	}
	pthread_mutex_lock(&s->lock);
	refused = errand_is_barred(s, e);
	if (!refused && !s->runner)
		s->runner = runner_new(s);
	refused |= !s->runner;
	ran = !refused && errand_run_in_time(s, e);
	pthread_mutex_unlock(&s->lock);
	if (refused)
		e->drop(e);
	return ran;
}

void errands__free(struct errands *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	bell__ring(&s->changed);
	errands_put(s);
}
