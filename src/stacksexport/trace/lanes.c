// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/lanes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"

struct open_lane {
	struct lane lane;
	struct buf ends; /* int64_t: the end times of the events that are open, outermost first */
};

struct thread_key {
	int32_t pid, tid;
};

struct thread_entry {
	UT_hash_handle hh;
	struct thread_key key;
	struct open_lane *lanes;
	size_t lane_cnt, first; /* first: lanes of the query that is being placed */
	int32_t query;
};

struct lanes {
	struct thread_entry *threads;
	int32_t next_id;
};

struct lanes *lanes__new(void)
{
	struct lanes *l = calloc(1, sizeof(*l));

	if (l)
		l->next_id = LANES_FIRST_ID;
	return l;
}

static void thread__free(struct thread_entry *t)
{
	for (size_t i = 0; i < t->lane_cnt; i++)
		buf__free(&t->lanes[i].ends);
	free(t->lanes);
	free(t);
}

void lanes__free(struct lanes *l)
{
	struct thread_entry *t, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->threads, t, next) {
		HASH_DEL(l->threads, t);
		thread__free(t);
	}
	free(l);
}

static struct thread_entry *lanes_find(const struct lanes *l, int32_t pid, int32_t tid)
{
	struct thread_key key = { pid, tid };
	struct thread_entry *t;

	HASH_FIND(hh, l->threads, &key, sizeof(key), t);
	return t;
}

static struct thread_entry *lanes_get(struct lanes *l, const struct lanes_event *e)
{
	struct thread_entry *t = lanes_find(l, e->pid, e->tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = (struct thread_key){ e->pid, e->tid };
	t->query = e->query;
	HASH_ADD(hh, l->threads, key, sizeof(t->key), t);
	if (HASH_ADDED(t))
		return t;
	free(t);
	return NULL;
}

/* Returns true if the event lies inside the innermost open event of the lane, or after it; the
 * event is then open too. */
static bool lane__take(struct open_lane *lane, const struct lanes_event *e)
{
	const int64_t *ends = (const int64_t *)lane->ends.data;
	size_t cnt = lane->ends.sz / sizeof(*ends);

	while (cnt && ends[cnt - 1] <= e->begin_ns)
		cnt--;
	lane->ends.sz = cnt * sizeof(*ends);
	if (cnt && e->end_ns > ends[cnt - 1])
		return false;
	buf__append(&lane->ends, &e->end_ns, sizeof(e->end_ns));
	return true;
}

static struct open_lane *lanes_add(struct lanes *l, struct thread_entry *t)
{
	struct open_lane *lanes = reallocarray(t->lanes, t->lane_cnt + 1, sizeof(*lanes));
	struct open_lane *lane;

	if (!lanes)
		return NULL;
	t->lanes = lanes;
	lane = &lanes[t->lane_cnt];
	*lane = (struct open_lane){ .lane = { .query = t->query } };
	lane->lane.nth = (int32_t)(t->lane_cnt - t->first);
	lane->lane.id = t->lane_cnt || !t->key.tid ? l->next_id++ : t->key.tid;
	t->lane_cnt++;
	return lane;
}

int32_t lanes__place(struct lanes *l, const struct lanes_event *e)
{
	struct thread_entry *t = lanes_get(l, e);
	struct open_lane *lane = NULL;

	if (!t)
		return -ENOMEM;
	if (t->query != e->query) {
		t->query = e->query;
		t->first = t->lane_cnt;
	}
	for (size_t i = t->first; i < t->lane_cnt && !lane; i++)
		if (lane__take(&t->lanes[i], e))
			lane = &t->lanes[i];
	if (!lane && t->lane_cnt - t->first == LANES_MAX)
		return -E2BIG;
	if (!lane && (lane = lanes_add(l, t)))
		lane__take(lane, e);
	return lane && !buf__err(&lane->ends) ? lane->lane.id : -ENOMEM;
}

void lanes__each(const struct lanes *l, int32_t pid, int32_t tid,
		 void (*take)(const struct lane *, void *arg), void *arg)
{
	const struct thread_entry *t = lanes_find(l, pid, tid);

	for (size_t i = 0; t && i < t->lane_cnt; i++)
		take(&t->lanes[i].lane, arg);
}
