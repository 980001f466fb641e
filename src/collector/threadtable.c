// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/threadtable.h"

#include <stdlib.h>

#include "collector/slice.h"

/* Called for each event. IDs of threads lie close together. */
static unsigned threadtable_hash(uint32_t tid)
{
	return tid * 2654435761u;
}

struct thread *threads__find(struct threads *ts, uint32_t tid)
{
	struct thread *t;

	HASH_FIND_BYHASHVALUE(hh, ts->by_tid, &tid, sizeof(tid), threadtable_hash(tid), t);
	return t;
}

static struct thread *threads_add(struct threads *ts, uint32_t tid)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	HASH_ADD_BYHASHVALUE(hh, ts->by_tid, tid, sizeof(t->tid), threadtable_hash(tid), t);
	if (HASH_ADDED(t))
		return t;
	free(t);
	return NULL;
}

struct thread *threads__get(struct threads *ts, uint32_t tid)
{
	struct thread *t = threads__find(ts, tid);

	if (!t)
		t = threads_add(ts, tid);
	if (t)
		t->sweep = ts->sweeps;
	return t;
}

bool threads__is_idle(const struct threads *ts, const struct thread *t)
{
	return ts->sweeps - t->sweep >= 2;
}

static void threadtable_drop(struct threads *ts, struct thread *t)
{
	HASH_DEL(ts->by_tid, t);
	free(t->pending);
	free(t);
}

void threads__sweep(struct threads *ts)
{
	struct thread *t, *next;

	ts->sweeps++;
	HASH_ITER (hh, ts->by_tid, t, next)
		if ((t->exited || threads__is_idle(ts, t)) && !t->pending)
			threadtable_drop(ts, t);
}

size_t threads__sz(const struct threads *ts)
{
	size_t sz = 0;

	for (const struct thread *t = ts->by_tid; t; t = t->hh.next)
		sz += sizeof(*t) + (t->pending ? sizeof(*t->pending) : 0);
	return sz;
}

void threads__free(struct threads *ts)
{
	struct thread *t, *next;

	HASH_ITER (hh, ts->by_tid, t, next)
		threadtable_drop(ts, t);
}
