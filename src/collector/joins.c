// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/joins.h"

#include <errno.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct open {
	uint64_t join;
	struct slice slice;
	struct build_id build_id;
	struct open *next_free;
	UT_hash_handle hh; /* in order of their beginning */
};

struct joins {
	struct open *by_join;
	struct open *free;
	size_t used_cnt; /* slots that were ever taken: the others' memory has not been touched */
	struct open slots[JOINS_MAX];
};

struct joins *joins__new(void)
{
	return calloc(1, sizeof(struct joins));
}

void joins__free(struct joins *j)
{
	if (j)
		HASH_CLEAR(hh, j->by_join);
	free(j);
}

/* NULL: all are taken. */
static struct open *take(struct joins *j)
{
	struct open *o = j->free;

	if (o)
		j->free = o->next_free;
	else if (j->used_cnt < JOINS_MAX)
		o = &j->slots[j->used_cnt++];
	return o;
}

static void give_back(struct joins *j, struct open *o)
{
	o->next_free = j->free;
	j->free = o;
}

static void drop(struct joins *j, struct open *o)
{
	HASH_DEL(j->by_join, o);
	give_back(j, o);
}

static struct open *find(const struct joins *j, uint64_t join)
{
	struct open *o;

	HASH_FIND(hh, j->by_join, &join, sizeof(join), o);
	return o;
}

bool joins__open(struct joins *j, const struct slice *s, const struct build_id *build_id,
		 struct slice *given_up)
{
	struct open *o = find(j, s->event.join);
	bool full = false;

	if (o) /* its end was lost, and counted where that happened */
		drop(j, o);
	o = take(j);
	if (!o) {
		*given_up = j->by_join->slice;
		drop(j, j->by_join);
		full = true;
		o = take(j);
	}
	*o = (struct open){ .join = s->event.join, .slice = *s, .build_id = *build_id };
	HASH_ADD(hh, j->by_join, join, sizeof(o->join), o);
	if (o->hh.tbl)
		return full;
	*given_up = *s; /* no memory */
	give_back(j, o);
	return true;
}

bool joins__close(struct joins *j, const struct event *close, struct slice *out,
		  struct build_id *build_id)
{
	struct open *o = find(j, close->join);

	if (!o)
		return false;
	*out = o->slice;
	*build_id = o->build_id;
	drop(j, o);
	if (close->flags & EVENT_F_CANCEL)
		return false;
	out->event.duration_ns = close->time_ns - out->event.time_ns;
	out->event.time_ns = close->time_ns;
	out->event.amount = close->amount;
	if (close->reason)
		out->event.reason = close->reason;
	return true;
}

void joins__each(const struct joins *j, joins_fn fn, void *arg)
{
	for (const struct open *o = j->by_join; o; o = o->hh.next)
		fn(&o->slice, arg);
}
