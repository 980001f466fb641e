// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/timeorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAP_MIN 1024

void timeorder__free(struct timeorder *o)
{
	free(o->v);
	free(o->spare);
}

/* Moves the entries to the front. Doubles the memory first if they fill more than half of it.
 * Returns 0 or -ENOMEM. */
static int timeorder_make_room(struct timeorder *o)
{
	size_t cap = o->cap ? 2 * o->cap : CAP_MIN, left = o->cnt - o->at;
	struct timeorder_entry *v = o->v;

	if (o->at < o->cap / 2 || !v) {
		v = reallocarray(o->spare, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->spare = v;
		v = reallocarray(o->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->v = v;
		o->cap = cap;
	}
	memmove(v, v + o->at, left * sizeof(*v));
	o->at = 0;
	o->cnt = left;
	return 0;
}

int timeorder__add(struct timeorder *o, struct timeorder_entry w)
{
	if (o->at == o->cnt)
		o->at = o->cnt = 0;
	if (o->cnt == o->cap && timeorder_make_room(o) != 0)
		return -ENOMEM;
	o->unsorted |= o->cnt > o->at && w.time_ns < o->v[o->cnt - 1].time_ns;
	o->v[o->cnt++] = w;
	return 0;
}

/* Returns the end of the sorted run that starts at `at`. */
static size_t timeorder_run_end(const struct timeorder *o, size_t at)
{
	while (++at < o->cnt && o->v[at - 1].time_ns <= o->v[at].time_ns)
		;
	return at < o->cnt ? at : o->cnt;
}

static void timeorder_merge(struct timeorder_entry *to, const struct timeorder_entry *a,
			    const struct timeorder_entry *b, const struct timeorder_entry *end)
{
	const struct timeorder_entry *a_end = b;

	while (a < a_end && b < end)
		*to++ = b->time_ns < a->time_ns ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*to));
	memcpy(to + (a_end - a), b, (size_t)(end - b) * sizeof(*to));
}

/* Merges each run with the next one. Returns the number of runs left. */
static size_t timeorder_merge_pairs(struct timeorder *o)
{
	struct timeorder_entry *sorted = o->spare, *to = sorted;
	size_t runs = 0;

	for (size_t at = o->at, mid, end; at < o->cnt; at = end, runs++) {
		mid = timeorder_run_end(o, at);
		end = mid < o->cnt ? timeorder_run_end(o, mid) : mid;
		timeorder_merge(to, o->v + at, o->v + mid, o->v + end);
		to += end - at;
	}
	o->spare = o->v;
	o->v = sorted;
	o->cnt = (size_t)(to - sorted);
	o->at = 0;
	return runs;
}

const struct timeorder_entry *timeorder__first(struct timeorder *o)
{
	if (o->unsorted)
		while (timeorder_merge_pairs(o) > 1)
			;
	o->unsorted = false;
	return o->at < o->cnt ? &o->v[o->at] : NULL;
}

void timeorder__step(struct timeorder *o)
{
	o->at++;
}
