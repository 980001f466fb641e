/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues of events that wait for files of their process which jobs are reading, one queue per
 * process. Events stay in order and keep the mappings of their own time. They are unwound when the
 * files are read; later events of the same process wait behind them. Time and memory are bounded:
 * an event that has waited too long, or the oldest one if there is no room, is unwound with the
 * files that are there.
 */
#ifndef COLLECTOR_DEFERRED_H
#define COLLECTOR_DEFERRED_H

#include "event/record.h"
#include "process/process.h"

struct deferred;

struct deferred_options {
	size_t max_sz;	  /* bytes of all queues */
	size_t each_sz;	  /* bytes of the queue of one process */
	uint64_t wait_ns; /* longest wait */
};

struct deferred *deferred__new(const struct deferred_options *); /* NULL + errno */
/* Call it before the process table is freed. Accepts NULL. */
void deferred__free(struct deferred *);

/* Returns true if an event of the process waits. */
bool deferred__holds(const struct deferred *, uint32_t tgid);
/* Returns true if the begin or end of the operation `join` waits (EVENT_F_OPEN, EVENT_F_CLOSE).
 * Sets *tgid to the process that has the last of them in its queue. */
bool deferred__joined(const struct deferred *, uint64_t join, uint32_t *tgid);

struct deferred_entry {
	uint32_t tgid; /* selects the queue */
	const struct event *event;
	struct process *process; /* in its present state; NULL if unknown */
};
/* Appends a copy of the event to its queue. Returns 0 or -ENOMEM. */
int deferred__add(struct deferred *, const struct deferred_entry *, uint64_t now_ns);

/* Unwinds one event. Returns false if it must wait on; never if this is the `last` try. */
typedef bool (*deferred_fn)(const struct deferred_entry *, bool last, void *arg);

/* Hands out the oldest events until the bounds hold again. Call it after deferred__add(). */
void deferred__relieve(struct deferred *, uint32_t tgid, deferred_fn, void *arg);
/* Tries the first event of each queue and the following ones, until one must wait again. Returns
 * false if it stopped early so that the caller can read the rings; call it again then. */
bool deferred__retry(struct deferred *, uint64_t now_ns, deferred_fn, void *arg);
/* Returns the time at which the next event has waited too long, UINT64_MAX if none waits. */
uint64_t deferred__due_ns(const struct deferred *);

struct deferred_stats {
	size_t cnt, sz;	 /* events and bytes that wait now */
	uint64_t waited; /* events that have waited so far */
	uint64_t forced; /* of these, the events that reached a bound */
};
void deferred__stats(const struct deferred *, struct deferred_stats *);

#endif
