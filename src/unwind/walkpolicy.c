// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/walkpolicy.h"

#include <errno.h>

#define TABLE_NS  10000000000 /* to build the table of a file, with a responsive disk */
#define TRIES_MAX 1024	      /* a forged sample may need more tables than are kept */

int walk_policy__open(struct walk_policy *w, const struct walk_options *o)
{
	int err = 0;

	*w = (struct walk_policy){ .jobs = o->jobs, .processes = o->processes };
	if (o->naive)
		w->naive = libdwflwalk__new();
	else
		w->unwinder = unwinder__new(o->cache, o->jobs);
	if (w->unwinder && o->jit)
		err = unwinder__set_jit(w->unwinder, o->jit);
	if (o->stitch_sz)
		w->stitch = stitch__new(o->stitch_sz);
	if (!err && (w->naive || w->unwinder) && (w->stitch || !o->stitch_sz))
		return 0;
	walk_policy__close(w);
	return -ENOMEM;
}

void walk_policy__close(struct walk_policy *w)
{
	unwinder__free(w->unwinder);
	libdwflwalk__free(w->naive);
	stitch__free(w->stitch);
	*w = (struct walk_policy){ 0 };
}

static bool policy_walk_waiting(struct walk_policy *w, const struct walk *k)
{
	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		if (unwinder__try(w->unwinder, k->process, k->sample, k->trace))
			return true;
		if (!jobs__wait(w->jobs, TABLE_NS))
			break;
	}
	unwinder__walk_available(w->unwinder, k->process, k->sample, k->trace);
	return true;
}

static bool policy_walk_naive(struct walk_policy *w, const struct walk *k)
{
	if (k->wait == WALK_RETRIES && !process__settled(k->process))
		return false;
	libdwflwalk__walk(w->naive, k->process, k->sample, k->trace);
	return true;
}

/* Returns false if a needed file is being read. */
static bool policy_walk_once(struct walk_policy *w, const struct walk *k)
{
	if (w->naive)
		return policy_walk_naive(w, k);
	switch (k->wait) {
	case WALK_RETRIES: return unwinder__try(w->unwinder, k->process, k->sample, k->trace);
	case WALK_WAITS: return policy_walk_waiting(w, k);
	case WALK_AVAILABLE:
		unwinder__walk_available(w->unwinder, k->process, k->sample, k->trace);
		break;
	case WALK_READS: unwinder__walk(w->unwinder, k->process, k->sample, k->trace); break;
	}
	return true;
}

/* The process may be a copy that was kept for a deferred event. Its mappings are read again only if
 * the process still has the same. */
static bool policy_refresh(struct walk_policy *w, struct walk *k)
{
	struct process *now = process_table__find(w->processes, k->process->tgid);

	if (!now || now->image != k->process->image || !process_table__refresh(w->processes, now))
		return false;
	k->process = now;
	return true;
}

static bool policy_has_more(struct walk_policy *w, struct walk *k)
{
	if (w->has_more)
		return w->has_more(w->arg, k->process, k->trace);
	return !k->again && k->trace->status == UNWIND_NO_MAP && policy_refresh(w, k);
}

bool walk_policy__walk(struct walk_policy *w, struct walk *k)
{
	k->again = false;
	if (!k->walked && !policy_walk_once(w, k))
		return false;
	while (policy_has_more(w, k)) {
		k->again = true;
		if (!policy_walk_once(w, k))
			return false;
	}
	if (w->stitch)
		stitch__apply(w->stitch, &(struct stitch_thread){ k->process, k->tid },
			      &k->sample->stack, k->trace);
	return true;
}
