/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait because files of their process are still being read: kept in order, with the
 * mappings of their own time, and unwound when the files are there. What comes later of the same
 * process waits behind them. Bounded in time and memory: who has waited too long, or is the oldest
 * when there is no room, is unwound with what there is.
 */
#ifndef COLLECTOR_DEFERRED_H
#define COLLECTOR_DEFERRED_H

#include "event/record.h"
#include "process/process.h"

struct deferred;

struct deferred_options {
	size_t max_sz;	  /* bytes of all */
	size_t each_sz;	  /* of a process */
	uint64_t wait_ns; /* at most */
};

struct deferred *deferred__new(const struct deferred_options *); /* NULL + errno */
/* To be called before the process table goes. Accepts NULL. */
void deferred__free(struct deferred *);

/* Whether something of the process waits. */
bool deferred__holds(const struct deferred *, uint32_t tgid);
/* In whose queue the last beginning or end of an operation of that name waits, if one does
 * (EVENT_F_OPEN, EVENT_F_CLOSE). */
bool deferred__joined(const struct deferred *, uint64_t join, uint32_t *tgid);

/* Copies the event; `process` as it is now, NULL: none is known. `tgid`: in whose queue. 0 or
 * -ENOMEM. */
struct deferred_entry {
	uint32_t tgid;
	const struct event *event;
	struct process *process;
};
int deferred__add(struct deferred *, const struct deferred_entry *, uint64_t now_ns);

/* Unwinds one. False: it goes on waiting; never when it is the `last` time. */
typedef bool (*deferred_fn)(const struct deferred_entry *, bool last, void *arg);

/* Hands out what must wait no longer because there is no room, after deferred__add(). */
void deferred__relieve(struct deferred *, uint32_t tgid, deferred_fn, void *arg);
/*
 * Tries the first of each process, and who comes behind it, until one goes on waiting. False when
 * it took too long for who has rings to read: there is more to try at once.
 */
bool deferred__retry(struct deferred *, uint64_t now_ns, deferred_fn, void *arg);
/* When somebody will have waited too long; UINT64_MAX: nobody waits. */
uint64_t deferred__due_ns(const struct deferred *);

struct deferred_stats {
	size_t cnt, sz;	 /* that wait: events, bytes */
	uint64_t waited; /* events so far */
	uint64_t forced; /* of them, those that could wait no longer */
};
void deferred__stats(const struct deferred *, struct deferred_stats *);

#endif
