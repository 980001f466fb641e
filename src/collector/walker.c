// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/log.h"
#include "unwind/walkpolicy.h"

#define STITCH_SZ (64u << 20) /* bytes of stacks that are remembered */

struct walker {
	struct table_cache *cache; /* of the unwinder; NULL: none */
	struct walk_policy policy;
	struct runtimes *runtimes;		 /* NULL with --no-runtimes */
	uint64_t code_bits;			 /* of return addresses on this system */
	struct trace trace;			 /* of an event that is walked alone */
	struct walker_entry ahead[RECORD_BATCH]; /* events that have been walked together */
	struct walk_job ahead_jobs[RECORD_BATCH];
	struct sample ahead_samples[RECORD_BATCH];
	size_t ahead_cnt, ahead_next;
	struct trace traces[RECORD_BATCH]; /* of these events */
	uint8_t room[SNAPSHOT_ROOM_SZ];	   /* only pages that were used for a stack with holes have
					      memory */
};

/* Returns NULL if tables cannot be kept on disk; the recording goes on without them. */
static struct table_cache *walker_open_cache(const struct collector_options *o)
{
	struct table_cache *cache;

	if (!o->cache_dir)
		return NULL;
	cache = table_cache__new(o->cache_dir, TABLE_CACHE_MAX);
	if (!cache)
		log__warn("compiled call-frame tables are not kept: %s: %s", o->cache_dir,
			  errno == EPERM ? "another user owns it or can write there"
					 : strerror(errno));
	return cache;
}

static void walker_set_managed(struct walker *w)
{
	struct managed_code managed;

	if (!w->policy.unwinder || !w->runtimes)
		return;
	managed = runtimes__code(w->runtimes);
	unwinder__set_managed(w->policy.unwinder, &managed);
}

struct walker *walker__new(const struct walker_options *options)
{
	const struct collector_options *o = options->options;
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->runtimes = options->runtimes;
	w->code_bits = machine__code_bits(&machine_native, getauxval(AT_EXECFN));
	if (o->unwinder != UNWINDER_NAIVE)
		w->cache = walker_open_cache(o);
	if (walk_policy__open(&w->policy,
			      &(struct walk_options){ .naive = o->unwinder == UNWINDER_NAIVE,
						      .stitch_sz = o->stitch ? STITCH_SZ : 0,
						      .cache = w->cache,
						      .jobs = options->jobs,
						      .processes = options->processes,
						      .jit = options->jit }) == 0) {
		walker_set_managed(w);
		return w;
	}
	walker__free(w);
	return errno = ENOMEM, NULL;
}

void walker__free(struct walker *w)
{
	if (!w)
		return;
	walk_policy__close(&w->policy);
	table_cache__put(w->cache);
	free(w);
}

void walker__ahead(struct walker *w, const struct walker_entry *entries, size_t cnt)
{
	w->ahead_cnt = w->ahead_next = 0;
	if (!w->policy.unwinder || cnt < 2)
		return;
	for (size_t i = 0; i < cnt; i++) {
		const struct walker_entry *e = &entries[i];
		size_t n = w->ahead_cnt;

		if (!e->process || !(e->event->flags & EVENT_F_USER) || event__holes(e->event))
			continue;
		w->ahead[n] = *e;
		event__sample(e->event, &w->ahead_samples[n]);
		w->ahead_samples[n].code_bits = w->code_bits;
		w->ahead_jobs[n] = (struct walk_job){ .process = e->process,
						      .sample = &w->ahead_samples[n],
						      .trace = &w->traces[n] };
		w->ahead_cnt++;
	}
	unwinder__try_many(w->policy.unwinder, w->ahead_jobs, w->ahead_cnt);
}

/* Returns the finished walk of the event; NULL if it was not walked ahead. */
static const struct walk_job *walker_walked(struct walker *w, const struct event *e)
{
	for (size_t i = w->ahead_next; i < w->ahead_cnt; i++) {
		if (w->ahead[i].event != e)
			continue;
		w->ahead_next = i + 1;
		return &w->ahead_jobs[i];
	}
	return NULL;
}

/* Functions are read at the same time as the files that the walk needs: they may go soon. */
static const struct trace *walker_await_files(struct walker *w, const struct process *p,
					      const struct event *e)
{
	if (w->runtimes)
		runtimes__request(w->runtimes, p, e);
	return NULL;
}

/* Returns false if functions of an interpreted program are being read. */
static bool walker_merge_calls(struct walker *w, const struct runtimes_event *e, struct trace *t)
{
	return !w->runtimes || runtimes__merge(w->runtimes, e, t);
}

const struct trace *walker__walk(struct walker *w, struct process *p, const struct event *e,
				 bool last)
{
	const struct walk_job *before = last ? NULL : walker_walked(w, e);
	struct sample sample;
	struct walk walk = { .process = p,
			     .sample = &sample,
			     .trace = before ? before->trace : &w->trace,
			     .tid = e->tid,
			     .wait = last ? WALK_AVAILABLE : WALK_RETRIES,
			     .walked = before };
	bool complete;

	if (before && before->awaits)
		return walker_await_files(w, p, e);
	event__sample(e, &sample);
	sample.code_bits = w->code_bits;
	if (event__holes(e))
		snapshot__spread(&sample.stack, event__holes(e), w->room);
	complete = walk_policy__walk(&w->policy, &walk);
	if (walk.again)
		w->ahead_cnt = 0; /* the others may have been walked with mappings that are gone */
	if (!complete)
		return walker_await_files(w, walk.process, e);
	if (!walker_merge_calls(w, &(struct runtimes_event){ walk.process, e, &sample.stack, last },
				walk.trace))
		return NULL;
	return walk.trace;
}

void walker__defer(struct walker *w, const struct process *p, const struct event *e)
{
	if (!w->runtimes || !p || !(e->flags & EVENT_F_USER))
		return;
	if (e->flags & EVENT_F_RUNTIME)
		runtimes__request(w->runtimes, p, e);
	else
		runtimes__look(w->runtimes, p);
}

void walker__stats(const struct walker *w, struct unwinder_stats *s)
{
	*s = (struct unwinder_stats){ 0 };
	if (w->policy.unwinder)
		unwinder__stats(w->policy.unwinder, s);
}
