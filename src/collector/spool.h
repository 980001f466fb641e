/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait because files of their process are still being read: kept in order, with the
 * mappings of their own time, and unwound when the files are there. What comes later of the same
 * process waits behind them. Bounded in time and memory: who has waited too long, or is the oldest
 * when there is no room, is unwound with what there is.
 */
#ifndef COLLECTOR_SPOOL_H
#define COLLECTOR_SPOOL_H

#include "event/record.h"
#include "process/process.h"

struct spool;

struct spool_options {
	size_t max_sz;	  /* bytes of all */
	size_t each_sz;	  /* of a process */
	uint64_t wait_ns; /* at most */
};

struct spool *spool__new(const struct spool_options *); /* NULL + errno */
/* To be called before the process table goes. Accepts NULL. */
void spool__free(struct spool *);

/* Whether something of the process waits. */
bool spool__holds(const struct spool *, uint32_t tgid);
/* In whose queue the last beginning or end of an operation of that name waits, if one does
 * (EVENT_F_OPEN, EVENT_F_CLOSE). */
bool spool__joined(const struct spool *, uint64_t join, uint32_t *tgid);

/* Copies the event; `process` as it is now, NULL: none is known. `tgid`: in whose queue. 0 or
 * -ENOMEM. */
struct spool_entry {
	uint32_t tgid;
	const struct event *event;
	struct process *process;
};
int spool__add(struct spool *, const struct spool_entry *, uint64_t now_ns);

/* Unwinds one. False: it goes on waiting; never when it is the `last` time. */
typedef bool (*spool_fn)(const struct spool_entry *, bool last, void *arg);

/* Hands out what must wait no longer because there is no room, after spool__add(). */
void spool__relieve(struct spool *, uint32_t tgid, spool_fn, void *arg);
/*
 * Tries the first of each process, and who comes behind it, until one goes on waiting. False when
 * it took too long for who has rings to read: there is more to try at once.
 */
bool spool__retry(struct spool *, uint64_t now_ns, spool_fn, void *arg);
/* When somebody will have waited too long; UINT64_MAX: nobody waits. */
uint64_t spool__due_ns(const struct spool *);

struct spool_stats {
	size_t cnt, sz;	 /* that wait: events, bytes */
	uint64_t waited; /* events so far */
	uint64_t forced; /* of them, those that could wait no longer */
};
void spool__stats(const struct spool *, struct spool_stats *);

#endif
