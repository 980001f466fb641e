// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/monotonic.h"

#define TURN_NS 5000000 /* a busy ring overflows after ten milliseconds */

struct deferred_event {
	struct deferred_event *behind;	    /* the next in the queue of its process */
	struct deferred_event *prev, *next; /* of all events, the oldest first */
	struct deferred_queue *queue;
	uint64_t since_ns;
	uint64_t join;	   /* id of an operation that begins or ends here; 0: none */
	UT_hash_handle hh; /* by .join */
	struct process process;
	bool has_process;
	size_t sz;	    /* bytes of memory */
	struct event event; /* with the bytes that follow it */
};

struct deferred_queue {
	uint32_t tgid;
	struct deferred_event *first, *last;
	size_t sz;
	UT_hash_handle hh;
};

struct deferred {
	struct deferred_options options;
	struct deferred_queue *queues;
	struct deferred_event *all, *joined;
	struct deferred_stats stats;
};

struct deferred *deferred__new(const struct deferred_options *options)
{
	struct deferred *s = calloc(1, sizeof(*s));

	if (s)
		s->options = *options;
	return s;
}

static struct deferred_queue *deferred_find(const struct deferred *s, uint32_t tgid)
{
	struct deferred_queue *q;

	HASH_FIND(hh, s->queues, &tgid, sizeof(tgid), q);
	return q;
}

bool deferred__holds(const struct deferred *s, uint32_t tgid)
{
	return s->stats.cnt && deferred_find(s, tgid);
}

static struct deferred_event *deferred_find_joined(const struct deferred *s, uint64_t join)
{
	struct deferred_event *e = NULL;

	if (s->joined)
		HASH_FIND(hh, s->joined, &join, sizeof(join), e);
	return e;
}

bool deferred__joined(const struct deferred *s, uint64_t join, uint32_t *tgid)
{
	const struct deferred_event *e = deferred_find_joined(s, join);

	if (e)
		*tgid = e->queue->tgid;
	return e;
}

/* Removes the first event of a queue. */
static void deferred_drop_first(struct deferred *s, struct deferred_queue *q)
{
	struct deferred_event *e = q->first;

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

void deferred__free(struct deferred *s)
{
	if (!s)
		return;
	while (s->queues)
		deferred_drop_first(s, s->queues);
	free(s);
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static struct deferred_event *deferred_event__new(const struct deferred_entry *entry,
						  uint64_t now_ns)
{
	size_t sz = event__sz(entry->event);
	struct deferred_event *e = malloc(offsetof(struct deferred_event, event) + sz);

	if (!e)
		return NULL;
	memset(e, 0, offsetof(struct deferred_event, event));
	memcpy(&e->event, entry->event, sz);
	e->since_ns = now_ns;
	e->sz = offsetof(struct deferred_event, event) + sz;
	if (entry->event->flags & (EVENT_F_OPEN | EVENT_F_CLOSE))
		e->join = entry->event->join;
	e->has_process = entry->process;
	if (entry->process)
		e->process = process__keep(entry->process);
	return e;
}

static struct deferred_queue *queue__of(struct deferred *s, uint32_t tgid)
{
	struct deferred_queue *q = deferred_find(s, tgid);

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

/* Returns the bytes of the event's mappings. Shared mappings cost nothing; a process that keeps
 * mapping has its own copy at each event. */
static size_t deferred_maps_sz(const struct deferred_queue *q, const struct deferred_event *e)
{
	bool same = q->last && q->last->process.maps == e->process.maps;

	return same ? 0 : e->process.map_cnt * sizeof(*e->process.maps);
}

/* Remembers the last event of an operation. Later operations with the same id must come after it.
 */
static void deferred_remember_join(struct deferred *s, struct deferred_event *e)
{
	struct deferred_event *before = e->join ? deferred_find_joined(s, e->join) : NULL;

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

int deferred__add(struct deferred *s, const struct deferred_entry *entry, uint64_t now_ns)
{
	struct deferred_event *e = deferred_event__new(entry, now_ns);
	struct deferred_queue *q = e ? queue__of(s, entry->tgid) : NULL;

	if (!q) {
		if (e && e->has_process)
			process__drop(&e->process);
		free(e);
		return -ENOMEM;
	}
	e->queue = q;
	if (!q->first)
		q->last = NULL;
	e->sz += deferred_maps_sz(q, e);
	*(q->first ? &q->last->behind : &q->first) = e;
	q->last = e;
	q->sz += e->sz;
	s->stats.sz += e->sz;
	s->stats.cnt++;
	s->stats.waited++;
	DL_APPEND(s->all, e);
	deferred_remember_join(s, e);
	return 0;
}

struct trying {
	deferred_fn fn;
	void *arg;
	uint64_t until_ns;
};

/* ---- out ----------------------------------------------------------------------------------------
 */

static bool deferred_hand_out(struct deferred_event *e, bool last, deferred_fn fn, void *arg)
{
	struct deferred_entry entry = { e->queue->tgid, &e->event,
					e->has_process ? &e->process : NULL };

	return fn(&entry, last, arg);
}

static void deferred_force(struct deferred *s, struct deferred_queue *q, deferred_fn fn, void *arg)
{
	s->stats.forced++;
	deferred_hand_out(q->first, true, fn, arg);
	deferred_drop_first(s, q);
}

void deferred__relieve(struct deferred *s, uint32_t tgid, deferred_fn fn, void *arg)
{
	struct deferred_queue *q;

	while ((q = deferred_find(s, tgid)) != NULL && q->sz > s->options.each_sz)
		deferred_force(s, q, fn, arg);
	/* The oldest of all is the first of its process. */
	while (s->all && s->stats.sz > s->options.max_sz)
		deferred_force(s, s->all->queue, fn, arg);
}

/* Returns false if the time is over before all events were tried. */
static bool deferred_retry_queue(struct deferred *s, struct deferred_queue *q, uint64_t now_ns,
				 const struct trying *t)
{
	bool more = true;

	while (more) {
		struct deferred_event *e = q->first;
		bool last = now_ns >= e->since_ns + s->options.wait_ns;

		s->stats.forced += last;
		if (!deferred_hand_out(e, last, t->fn, t->arg))
			return true;
		more = e->behind;
		deferred_drop_first(s, q);
		if (more && monotonic__ns() >= t->until_ns)
			return false;
	}
	return true;
}

bool deferred__retry(struct deferred *s, uint64_t now_ns, deferred_fn fn, void *arg)
{
	struct trying t = { fn, arg, monotonic__ns() + TURN_NS };
	struct deferred_queue *q, *next;

	HASH_ITER (hh, s->queues, q, next)
		if (!deferred_retry_queue(s, q, now_ns, &t))
			return false;
	return true;
}

uint64_t deferred__due_ns(const struct deferred *s)
{
	return s->all ? s->all->since_ns + s->options.wait_ns : UINT64_MAX;
}

void deferred__stats(const struct deferred *s, struct deferred_stats *stats)
{
	*stats = s->stats;
}
