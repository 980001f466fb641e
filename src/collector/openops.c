// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/openops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct open {
	uint64_t join;
	struct resolved_event slice;
	struct build_id build_id;
	struct open *next_free;
	UT_hash_handle hh; /* in the order in which they began */
};

struct open_ops {
	struct open *by_join;
	struct open *free;
	size_t used_cnt; /* slots that were ever used; the memory of the others was never touched */
	struct open slots[OPEN_OPS_MAX];
};

struct open_ops *open_ops__new(void)
{
	return calloc(1, sizeof(struct open_ops));
}

void open_ops__free(struct open_ops *j)
{
	if (j)
		HASH_CLEAR(hh, j->by_join);
	free(j);
}

/* Returns a free slot. Must not be called if all are in use. */
static struct open *openops_take(struct open_ops *j)
{
	struct open *o = j->free;

	if (!o)
		return &j->slots[j->used_cnt++];
	j->free = o->next_free;
	return o;
}

static bool openops_is_full(const struct open_ops *j)
{
	return !j->free && j->used_cnt == OPEN_OPS_MAX;
}

static void openops_give_back(struct open_ops *j, struct open *o)
{
	o->next_free = j->free;
	j->free = o;
}

static void openops_drop(struct open_ops *j, struct open *o)
{
	HASH_DEL(j->by_join, o);
	openops_give_back(j, o);
}

static struct open *openops_find(const struct open_ops *j, uint64_t join)
{
	struct open *o;

	HASH_FIND(hh, j->by_join, &join, sizeof(join), o);
	return o;
}

static void openops_make_room(struct open_ops *j, struct open *o, struct resolved_event *given_up)
{
	*given_up = o->slice;
	openops_drop(j, o);
}

const char *open_ops__open(struct open_ops *j, const struct resolved_event *s,
			   const struct build_id *build_id, struct resolved_event *given_up)
{
	struct open *o = openops_find(j, s->event.join);
	const char *reason = o ? "end_lost" : NULL;

	if (!o && openops_is_full(j)) {
		o = j->by_join; /* the oldest */
		reason = "state_full";
	}
	if (o)
		openops_make_room(j, o, given_up);
	o = openops_take(j);
	*o = (struct open){ .join = s->event.join, .slice = *s, .build_id = *build_id };
	HASH_ADD(hh, j->by_join, join, sizeof(o->join), o);
	if (HASH_ADDED(o))
		return reason;
	*given_up = *s; /* no memory */
	openops_give_back(j, o);
	return "state_full";
}

bool open_ops__close(struct open_ops *j, const struct event *close, struct resolved_event *out,
		     struct build_id *build_id)
{
	struct open *o = openops_find(j, close->join);

	if (!o)
		return false;
	*out = o->slice;
	*build_id = o->build_id;
	openops_drop(j, o);
	if (close->flags & EVENT_F_CANCEL)
		return false;
	if (!(close->flags & EVENT_F_UNTIMED)) {
		out->event.duration_ns = close->time_ns - out->event.time_ns;
		out->event.time_ns = close->time_ns;
	}
	out->event.amount = close->amount;
	if (close->detail_sz) {
		memcpy(out->detail, event__detail(close), close->detail_sz);
		out->event.detail = close->detail;
		out->event.detail_sz = close->detail_sz;
	}
	if (close->reason)
		out->event.reason = close->reason;
	return true;
}

void open_ops__each(const struct open_ops *j, joins_fn fn, void *arg)
{
	for (const struct open *o = j->by_join, *next; o; o = next) {
		next = o->hh.next;
		fn(&o->slice, arg);
	}
}
