// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/joins.h"

#include <errno.h>
#include <stdlib.h>
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
	struct open slots[JOINS_MAX];
};

struct joins *joins__new(void)
{
	struct joins *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	for (size_t i = JOINS_MAX; i-- > 0;) {
		j->slots[i].next_free = j->free;
		j->free = &j->slots[i];
	}
	return j;
}

void joins__free(struct joins *j)
{
	if (j)
		HASH_CLEAR(hh, j->by_join);
	free(j);
}

static void drop(struct joins *j, struct open *o)
{
	HASH_DEL(j->by_join, o);
	o->next_free = j->free;
	j->free = o;
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
	bool full = !o && !j->free;

	if (full) {
		o = j->by_join;
		*given_up = o->slice;
	}
	if (o) /* else its end was lost, and counted where that happened */
		drop(j, o);
	o = j->free;
	j->free = o->next_free;
	o->join = s->event.join;
	o->slice = *s;
	o->build_id = *build_id;
	HASH_ADD(hh, j->by_join, join, sizeof(o->join), o);
	return full;
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
