// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/monotonic.h"

#define TURN_NS 5000000 /* a busy ring lasts for ten milliseconds */

struct spooled {
	struct spooled *behind;	     /* in the queue of its process */
	struct spooled *prev, *next; /* of all, the oldest first */
	struct queue *queue;
	uint64_t since_ns;
	uint64_t join;	   /* of an operation that begins or ends; 0: none does */
	UT_hash_handle hh; /* by that */
	struct process process;
	bool has_process;
	size_t sz;	    /* bytes that it takes */
	struct event event; /* with what follows it */
};

struct queue {
	uint32_t tgid;
	struct spooled *first, *last;
	size_t sz;
	UT_hash_handle hh;
};

struct spool {
	struct spool_options options;
	struct queue *queues;
	struct spooled *all, *joined;
	struct spool_stats stats;
};

struct spool *spool__new(const struct spool_options *options)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (s)
		s->options = *options;
	return s;
}

static struct queue *find(const struct spool *s, uint32_t tgid)
{
	struct queue *q;

	HASH_FIND(hh, s->queues, &tgid, sizeof(tgid), q);
	return q;
}

bool spool__holds(const struct spool *s, uint32_t tgid)
{
	return s->stats.cnt && find(s, tgid);
}

static struct spooled *find_joined(const struct spool *s, uint64_t join)
{
	struct spooled *e = NULL;

	if (s->joined)
		HASH_FIND(hh, s->joined, &join, sizeof(join), e);
	return e;
}

bool spool__joined(const struct spool *s, uint64_t join, uint32_t *tgid)
{
	const struct spooled *e = find_joined(s, join);

	if (e)
		*tgid = e->queue->tgid;
	return e;
}

/* The first of its queue goes. */
static void drop_first(struct spool *s, struct queue *q)
{
	struct spooled *e = q->first;

	q->first = e->behind;
	q->sz -= e->sz;
	s->stats.sz -= e->sz;
	s->stats.cnt--;
	DL_DELETE(s->all, e);
	if (e->join)
		HASH_DEL(s->joined, e);
	if (e->has_process)
		process__drop(&e->process);
	free(e);
	if (q->first)
		return;
	HASH_DEL(s->queues, q);
	free(q);
}

void spool__free(struct spool *s)
{
	if (!s)
		return;
	while (s->queues)
		drop_first(s, s->queues);
	free(s);
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static struct spooled *spooled__new(const struct spool_entry *entry, uint64_t now_ns)
{
	size_t sz = event__sz(entry->event);
	struct spooled *e = malloc(offsetof(struct spooled, event) + sz);

	if (!e)
		return NULL;
	memset(e, 0, offsetof(struct spooled, event));
	memcpy(&e->event, entry->event, sz);
	e->since_ns = now_ns;
	e->sz = offsetof(struct spooled, event) + sz;
	if (entry->event->flags & (EVENT_F_OPEN | EVENT_F_CLOSE))
		e->join = entry->event->join;
	e->has_process = entry->process;
	if (entry->process)
		e->process = process__keep(entry->process);
	return e;
}

static struct queue *queue__of(struct spool *s, uint32_t tgid)
{
	struct queue *q = find(s, tgid);

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->tgid = tgid;
	HASH_ADD(hh, s->queues, tgid, sizeof(q->tgid), q);
	if (HASH_ADDED(q))
		return q;
	free(q);
	return NULL;
}

/* Mappings that others share cost nothing; those of a process that goes on mapping are its own. */
static size_t maps_sz(const struct queue *q, const struct spooled *e)
{
	bool same = q->last && q->last->process.maps == e->process.maps;

	return same ? 0 : e->process.map_cnt * sizeof(*e->process.maps);
}

/* Operations follow each other under one name: what comes of it from now on comes after this. */
static void remember_join(struct spool *s, struct spooled *e)
{
	struct spooled *before = e->join ? find_joined(s, e->join) : NULL;

	if (before) {
		HASH_DEL(s->joined, before);
		before->join = 0;
	}
	if (!e->join)
		return;
	HASH_ADD(hh, s->joined, join, sizeof(e->join), e);
	if (!HASH_ADDED(e))
		e->join = 0;
}

int spool__add(struct spool *s, const struct spool_entry *entry, uint64_t now_ns)
{
	struct spooled *e = spooled__new(entry, now_ns);
	struct queue *q = e ? queue__of(s, entry->tgid) : NULL;

	if (!q) {
		if (e && e->has_process)
			process__drop(&e->process);
		free(e);
		return -ENOMEM;
	}
	e->queue = q;
	if (!q->first)
		q->last = NULL;
	e->sz += maps_sz(q, e);
	*(q->first ? &q->last->behind : &q->first) = e;
	q->last = e;
	q->sz += e->sz;
	s->stats.sz += e->sz;
	s->stats.cnt++;
	s->stats.waited++;
	DL_APPEND(s->all, e);
	remember_join(s, e);
	return 0;
}

struct trying {
	spool_fn fn;
	void *arg;
	uint64_t until_ns;
};

/* ---- out ----------------------------------------------------------------------------------------
 */

static bool hand_out(struct spooled *e, bool last, spool_fn fn, void *arg)
{
	struct spool_entry entry = { e->queue->tgid, &e->event,
				     e->has_process ? &e->process : NULL };

	return fn(&entry, last, arg);
}

static void force(struct spool *s, struct queue *q, spool_fn fn, void *arg)
{
	s->stats.forced++;
	hand_out(q->first, true, fn, arg);
	drop_first(s, q);
}

void spool__relieve(struct spool *s, uint32_t tgid, spool_fn fn, void *arg)
{
	struct queue *q;

	while ((q = find(s, tgid)) != NULL && q->sz > s->options.each_sz)
		force(s, q, fn, arg);
	/* The oldest of all is the first of its process. */
	while (s->all && s->stats.sz > s->options.max_sz)
		force(s, s->all->queue, fn, arg);
}

/* False when there is more to try, and no time. */
static bool retry_queue(struct spool *s, struct queue *q, uint64_t now_ns, const struct trying *t)
{
	bool more = true;

	while (more) {
		struct spooled *e = q->first;
		bool last = now_ns >= e->since_ns + s->options.wait_ns;

		s->stats.forced += last;
		if (!hand_out(e, last, t->fn, t->arg))
			return true;
		more = e->behind;
		drop_first(s, q);
		if (more && monotonic__ns() >= t->until_ns)
			return false;
	}
	return true;
}

bool spool__retry(struct spool *s, uint64_t now_ns, spool_fn fn, void *arg)
{
	struct trying t = { fn, arg, monotonic__ns() + TURN_NS };
	struct queue *q, *next;

	HASH_ITER (hh, s->queues, q, next)
		if (!retry_queue(s, q, now_ns, &t))
			return false;
	return true;
}

uint64_t spool__due_ns(const struct spool *s)
{
	return s->all ? s->all->since_ns + s->options.wait_ns : UINT64_MAX;
}

void spool__stats(const struct spool *s, struct spool_stats *stats)
{
	*stats = s->stats;
}
