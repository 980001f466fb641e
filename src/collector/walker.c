// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/log.h"
#include "unwind/libdwflwalk.h"
#include "unwind/stitch.h"

#define STITCH_SZ (64u << 20) /* bytes of stacks that are remembered */

struct walker {
	struct process_table *processes;
	struct table_cache *cache; /* of the unwinder; NULL: none */
	struct unwinder *unwinder;
	struct libdwflwalk *naive;		 /* instead of it, with --unwinder=naive */
	struct stitch *stitch;			 /* NULL without --stitch */
	struct runtimes *runtimes;		 /* NULL with --no-runtimes */
	uint64_t code_bits;			 /* of return addresses on this system */
	struct trace trace;			 /* of an event that is walked alone */
	struct walker_entry ahead[RECORD_BATCH]; /* that have been walked */
	struct walk_job ahead_jobs[RECORD_BATCH];
	struct sample ahead_samples[RECORD_BATCH];
	size_t ahead_cnt, ahead_next;
	struct trace traces[RECORD_BATCH]; /* theirs */
	uint8_t room[SNAPSHOT_ROOM_SZ];	   /* memory only where a stack with holes was */
};

/* Recording goes on without one. */
static struct table_cache *open_cache(const struct options *o)
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

static void set_managed(struct walker *w)
{
	const struct managed_code managed = runtimes__code(w->runtimes);

	unwinder__set_managed(w->unwinder, &managed);
}

struct walker *walker__new(const struct walker_options *options)
{
	const struct options *o = options->options;
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->processes = options->processes;
	w->runtimes = options->runtimes;
	w->code_bits = machine__code_bits(&machine_native, getauxval(AT_EXECFN));
	if (o->unwinder == UNWINDER_NAIVE) {
		w->naive = libdwflwalk__new();
	} else {
		w->cache = open_cache(o);
		w->unwinder = unwinder__new(w->cache, options->jobs);
	}
	if (w->unwinder && w->runtimes)
		set_managed(w);
	if (o->stitch)
		w->stitch = stitch__new(STITCH_SZ);
	if ((w->naive || w->unwinder) && (w->stitch || !o->stitch))
		return w;
	walker__free(w);
	return errno = ENOMEM, NULL;
}

void walker__free(struct walker *w)
{
	if (!w)
		return;
	unwinder__free(w->unwinder);
	table_cache__put(w->cache);
	libdwflwalk__free(w->naive);
	stitch__free(w->stitch);
	free(w);
}

void walker__ahead(struct walker *w, const struct walker_entry *entries, size_t cnt)
{
	w->ahead_cnt = w->ahead_next = 0;
	if (!w->unwinder || cnt < 2)
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
	unwinder__try_many(w->unwinder, w->ahead_jobs, w->ahead_cnt);
}

/* How the event was walked already; NULL: it was not. */
static const struct walk_job *walked(struct walker *w, const struct event *e)
{
	for (size_t i = w->ahead_next; i < w->ahead_cnt; i++) {
		if (w->ahead[i].event != e)
			continue;
		w->ahead_next = i + 1;
		return &w->ahead_jobs[i];
	}
	return NULL;
}

/* False: a file that it needs is being read. */
static bool walk(struct walker *w, struct process *p, const struct sample *sample, bool last)
{
	if (w->unwinder && !last)
		return unwinder__try(w->unwinder, p, sample, &w->trace);
	if (w->unwinder)
		unwinder__walk_available(w->unwinder, p, sample, &w->trace);
	else if (!last && !process__settled(p))
		return false;
	else
		libdwflwalk__walk(w->naive, p, sample, &w->trace);
	return true;
}

/* The process when its mappings were other ones than it was taken to have; else NULL. */
static struct process *refresh(struct walker *w, const struct process *p)
{
	struct process *now = process_table__find(w->processes, p->tgid);

	return now && now->image == p->image && process_table__refresh(w->processes, now) ? now
											  : NULL;
}

/* False: functions of an interpreted program are being read. */
static bool merge_calls(struct walker *w, const struct runtimes_event *e, struct trace *t)
{
	return !w->runtimes || runtimes__merge(w->runtimes, e, t);
}

const struct trace *walker__walk(struct walker *w, struct process *p, const struct event *e,
				 bool last)
{
	const struct walk_job *before = last ? NULL : walked(w, e);
	struct trace *t = before ? before->trace : &w->trace;
	struct sample sample;
	struct process *now;

	event__sample(e, &sample);
	sample.code_bits = w->code_bits;
	if (event__holes(e))
		snapshot__spread(&sample.stack, event__holes(e), w->room);
	if (before ? before->awaits : !walk(w, p, &sample, last))
		return NULL;
	now = t->status == UNWIND_NO_MAP ? refresh(w, p) : NULL;
	if (now) {
		w->ahead_cnt = 0; /* the others may have been walked with mappings that are gone */
		t = &w->trace;
		if (!walk(w, now, &sample, last))
			return NULL;
	}
	if (w->stitch)
		stitch__apply(w->stitch, &(struct stitch_thread){ now ? now : p, e->tid },
			      &sample.stack, t);
	if (!merge_calls(w, &(struct runtimes_event){ now ? now : p, e, &sample.stack, last }, t))
		return NULL;
	return t;
}

void walker__stats(const struct walker *w, struct unwinder_stats *s)
{
	*s = (struct unwinder_stats){ 0 };
	if (w->unwinder)
		unwinder__stats(w->unwinder, s);
}
