// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "worker/channel.h"
#include "worker/exchange.h"
#include "worker/sandbox.h"
#include "worker/starter.h"

#define FAILURES_MAX 16		/* of one request */
#define YOUNG_NS     5000000000 /* after this, a failure of a request counts more */
#define UNASKED	     UINT64_MAX /* the owner of a worker that has read no file */
#define IDLE_MAX     4		/* workers that wait for requests */
#define BUSY_MAX     128	/* as many as there can be threads that wait for one */
#define WARNINGS_MAX 16

struct workers {
	atomic_uint refs;
	atomic_bool stopped;
	_Atomic uint64_t ended_cpu_ns; /* of workers that have been ended */
	struct starter starter;
	pthread_mutex_t starting; /* held while a worker is started */
	bool orphaned;		  /* under that lock: the starter has ended */
	pthread_mutex_t lock;	  /* protects what follows; never held while waiting */
	struct worker *idle;	  /* latest first */
	size_t idle_cnt;
	struct worker *busy[BUSY_MAX];
	size_t busy_cnt;
	struct workers_stats stats;
	unsigned warned;
};

/* ---- all workers --------------------------------------------------------------------------------
 */

/* Kills a worker and forgets it. */
static void workers_end(struct workers *s, struct worker *w)
{
	s->ended_cpu_ns += worker__cpu_ns(w);
	if (w->inner > 0)
		starter__kill(&s->starter, w->inner, worker_user(w->owner));
	close(w->socket);
	free(w);
}

static void workers_warn(struct workers *s, const char *path, const char *what)
{
	if (s->warned++ < WARNINGS_MAX)
		log__warn("%s: %s", path, what);
}

/* Receives a worker's first message. Returns 0, -EPERM (already logged) if it cannot be confined,
 * or -ECHILD if it has ended. */
static int workers_receive_first(struct workers *s, struct worker *w)
{
	struct worker_patience patience = worker__patience(0);
	struct packet *p = malloc(sizeof(*p));
	int err = p ? worker__receive(w, &s->stopped, &patience, p) : -ENOMEM;

	if (!err && p->message.err)
		log__error("cannot %s for a worker: %s; run with --no-sandbox to read files of "
			   "other users in this process",
			   sandbox__step_text(p->message.value), strerror(-p->message.err));
	if (!err)
		err = p->message.err ? -EPERM : p->message.kind == MESSAGE_HELLO ? 0 : -EPROTO;
	if (!err)
		w->pid = p->sender;
	if (!err && p->fd >= 0)
		close(p->fd);
	free(p);
	return err == -EPIPE ? -ECHILD : err;
}

/* Starts a worker. Must hold `starting`. Returns NULL and sets errno: EPIPE if the starter has
 * ended, ECHILD if the worker has, ETIMEDOUT as starter__start(). */
static struct worker *workers_start_one(struct workers *s, uint64_t owner)
{
	struct worker *w = calloc(1, sizeof(*w));
	int sockets[2], err = w ? channel__pair(sockets) : -ENOMEM;

	if (err) {
		free(w);
		return errno = -err, NULL;
	}
	*w = (struct worker){ .socket = sockets[0], .owner = UNASKED };
	setsockopt(w->socket, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int));
	w->inner = starter__start(&s->starter, sockets[1], worker_user(owner));
	close(sockets[1]);
	err = w->inner < 0 ? w->inner : workers_receive_first(s, w);
	if (!err) {
		s->stats.started++;
		return w;
	}
	workers_end(s, w);
	return errno = -err, NULL;
}

/* Removes an idle worker that may read files of this owner from the list. Returns NULL if there is
 * none. */
static struct worker *workers_pick(struct workers *s, uint64_t owner)
{
	struct worker **found = NULL, *w;

	for (struct worker **at = &s->idle; *at; at = &(*at)->next)
		if ((*at)->owner == owner || ((*at)->owner == UNASKED && !found))
			found = at;
	if (!found)
		return NULL;
	w = *found;
	*found = w->next;
	s->idle_cnt--;
	return w;
}

/* Starts a worker. Returns NULL and sets errno: ECHILD if another try makes sense; ETIMEDOUT as
 * starter__start(). Reports once that the starter has ended. */
static struct worker *workers_start(struct workers *s, uint64_t owner)
{
	struct worker *w = NULL;
	bool orphaned = false;
	int err = EPIPE;

	pthread_mutex_lock(&s->starting);
	if (!s->orphaned && !s->stopped) {
		w = workers_start_one(s, owner);
		err = w ? 0 : errno;
		s->orphaned = orphaned = err == EPIPE && !s->stopped;
	}
	pthread_mutex_unlock(&s->starting);
	if (orphaned)
		log__error("the process that starts workers has ended: files that are new from now "
			   "on have no unwind rules and names; restart the recording");
	errno = err;
	return w;
}

/* Enters a worker in the list of those that have a request. Returns false if there is no room, or
 * all end. */
static bool workers_engage(struct workers *s, struct worker *w, uint64_t owner)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = !s->stopped && s->busy_cnt < BUSY_MAX;
	if (room) {
		w->owner = owner;
		s->busy[s->busy_cnt++] = w;
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* Returns a worker for a request. Returns NULL and sets errno as workers_start(). */
static struct worker *workers_take(struct workers *s, uint64_t owner)
{
	struct worker *w;

	pthread_mutex_lock(&s->lock);
	s->stats.asked++;
	w = s->stopped ? NULL : workers_pick(s, owner);
	pthread_mutex_unlock(&s->lock);
	if (!w)
		w = workers_start(s, owner);
	if (!w || workers_engage(s, w, owner))
		return w;
	workers_end(s, w);
	return errno = EBUSY, NULL;
}

/* Ends the idle worker that has waited longest. Must hold the lock. */
static void workers_drop_oldest(struct workers *s)
{
	struct worker **at = &s->idle, *w;

	while ((*at)->next)
		at = &(*at)->next;
	w = *at;
	*at = NULL;
	s->idle_cnt--;
	workers_end(s, w);
}

/* Returns a worker after a request. */
static void workers_return(struct workers *s, struct worker *w, bool failed)
{
	size_t i = 0;

	pthread_mutex_lock(&s->lock);
	while (s->busy[i] != w)
		i++;
	s->busy[i] = s->busy[--s->busy_cnt];
	if (failed || s->stopped) {
		workers_end(s, w);
	} else {
		w->next = s->idle;
		s->idle = w;
		if (++s->idle_cnt > IDLE_MAX)
			workers_drop_oldest(s);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Counts a failure, and reports it if it matters to users. `last`: there is no other try. */
static void workers_note(struct workers *s, const struct worker_request *r, int err, bool last)
{
	pthread_mutex_lock(&s->lock);
	if (err == -EPROTO || err == -EFBIG) {
		s->stats.refused++;
		workers_warn(s, r->path, "the answer of a worker that read this file was refused");
	} else if (err == -ETIMEDOUT || err == -ETIME) {
		s->stats.late++;
		workers_warn(
			s, r->path,
			"reading this file takes too long; it is left alone for half a minute");
	} else if (err != -ESHUTDOWN) {
		s->stats.died++;
		if (last)
			workers_warn(
				s, r->path,
				"the workers that read this file have ended; it is left alone for "
				"half a minute");
	}
	pthread_mutex_unlock(&s->lock);
}

/* Returns false if the next worker would take as long. */
static bool workers_may_try_again(int err)
{
	return err != -ETIMEDOUT && err != -ETIME;
}

/*
 * Returns how many of FAILURES_MAX a failure counts for. Other processes can kill workers, but they
 * cannot cause wrong answers. `young`: the request is.
 */
static unsigned workers_failure_weight(const struct worker_result *r, bool young)
{
	if (!workers_may_try_again(r->err))
		return FAILURES_MAX;
	if (!young || r->err == -EPROTO || r->err == -EFBIG)
		return FAILURES_MAX / 4;
	return r->unread ? 0 : 1;
}

/* Makes the request to workers, one after another, until one does not fail. */
static struct worker_result workers_try(struct workers *s, const struct worker_request *r,
					struct packet *p)
{
	const struct worker_result none = { .err = -ECHILD, .failed = true };
	uint64_t young_ns = monotonic__ns() + YOUNG_NS;
	struct worker_result result = none;

	for (unsigned failures = 0; failures < FAILURES_MAX && !s->stopped;) {
		struct worker *w = workers_take(s, r->owner);

		result = none;
		if (!w && errno == ETIMEDOUT)
			result.err = -ETIMEDOUT;
		if (!w && errno != ECHILD)
			break;
		if (w) {
			result = worker__request(w, r, &s->stopped, p);
			workers_return(s, w, result.failed);
		}
		if (!result.failed)
			break;
		failures += workers_failure_weight(&result, monotonic__ns() < young_ns);
		workers_note(s, r, result.err, failures >= FAILURES_MAX);
	}
	return result;
}

int workers__request(struct workers *s, const struct worker_request *r, void **answer, size_t *sz)
{
	struct worker_result result;
	struct packet *p = malloc(sizeof(*p));

	*answer = NULL;
	*sz = 0;
	if (!p)
		return -ENOMEM;
	result = workers_try(s, r, p);
	free(p);
	*answer = result.answer;
	*sz = result.sz;
	return result.failed && workers_may_try_again(result.err) ? -ECHILD : result.err;
}

/* ---- creation -----------------------------------------------------------------------------------
 */

struct workers *workers__new(const task_fn functions[TASK_CNT])
{
	struct workers *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->refs = 1;
	priority__init_lock(&s->lock);
	priority__init_lock(&s->starting);
	err = starter__begin(&s->starter, functions);
	if (err)
		log__error("cannot start a process for workers: %s", strerror(-err));
	if (!err) {
		s->idle = workers_start_one(s, WORKER_TRUSTED);
		s->idle_cnt = s->idle != NULL;
		err = s->idle ? 0 : -errno;
	}
	if (!err)
		return s;
	workers__put(s);
	return errno = -err, NULL;
}

void workers__stop(struct workers *s)
{
	struct worker *w;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	for (size_t i = 0; i < s->busy_cnt; i++)
		shutdown(s->busy[i]->socket, SHUT_RDWR); /* wakes the thread that waits */
	while ((w = s->idle) != NULL) {
		s->idle = w->next;
		workers_end(s, w);
	}
	s->idle_cnt = 0;
	starter__stop(&s->starter);
	pthread_mutex_unlock(&s->lock);
}

struct workers *workers__get(struct workers *s)
{
	if (s)
		atomic_fetch_add(&s->refs, 1);
	return s;
}

void workers__put(struct workers *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	workers__stop(s);
	starter__end(&s->starter);
	pthread_mutex_destroy(&s->starting);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void workers__stats(struct workers *s, struct workers_stats *stats)
{
	*stats = (struct workers_stats){ 0 };
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	*stats = s->stats;
	stats->cpu_ns = s->ended_cpu_ns;
	for (const struct worker *w = s->idle; w; w = w->next)
		stats->cpu_ns += worker__cpu_ns(w);
	for (size_t i = 0; i < s->busy_cnt; i++)
		stats->cpu_ns += worker__cpu_ns(s->busy[i]);
	pthread_mutex_unlock(&s->lock);
}

uint32_t workers__lack(const struct workers *s)
{
	return s->starter.lack;
}

pid_t workers__starter_pid(const struct workers *s)
{
	return s ? s->starter.pid : 0;
}
