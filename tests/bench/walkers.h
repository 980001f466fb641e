/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwinders that walk the same snapshots, ours and others, and their inputs. */
#ifndef BENCH_WALKERS_H
#define BENCH_WALKERS_H

#include <stdio.h>
#include <time.h>

#include "peers.h"
#include "snapset.h"
#include "unwind/libdwflwalk.h"
#include "unwind/unwinder.h"

#define BATCH	   RECORD_BATCH
#define FRAMES_MAX 8192

enum who { OURS, LIBDWFL, LIBUNWIND, FRAMEHOP, WHO_CNT };

/* Uses only the mappings in the file. */
static const struct process_options by_records = { .told = true, .past = true };

static const char *const names[WHO_CNT] = { "ours", "libdwfl", "libunwind", "framehop" };

struct set {
	struct snapset snaps;
	uint64_t *met; /* addresses of the mapped files on the first stacks; ends with 0 */
	const struct process *process;
	struct libunwind *libunwind;
	void *framehop;
};

struct work {
	struct set *set;
	const struct event *event;
};

struct bench {
	struct process_table *table;
	struct jobs *jobs; /* build tables */
	struct unwinder *unwinder;
	struct libdwflwalk *naive;
	void *framehop_cache;
	struct trace traces[BATCH];
	uint64_t pcs[FRAMES_MAX];
};

static inline void die(const char *what)
{
	fprintf(stderr, "walks: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline void *must(void *p)
{
	if (!p)
		die("memory");
	return p;
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct telling {
	struct process_table *table;
	const uint64_t *only; /* NULL: all */
};

static inline bool is_among(const uint64_t *starts, uint64_t start)
{
	while (*starts && *starts != start)
		starts++;
	return *starts;
}

static inline void apply(const struct record *r, void *arg)
{
	const struct telling *t = arg;

	if (!t->only || is_among(t->only, r->mmap.start))
		process_table__apply(t->table, r);
}

/* Adds the process with all mappings of the file, or with some of them. */
static inline void add_process(struct process_table *t, struct set *s, const uint64_t *only)
{
	snapset__maps(&s->snaps, apply, &(struct telling){ t, only });
	s->process = must(process_table__get(t, s->snaps.tgid));
}

/* For processes that have ended, like those of the snapshots. */
static inline struct unwinder *new_unwinder(struct jobs *jobs)
{
	return must(unwinder__new(NULL, jobs));
}

/* ---- unwinders ----------------------------------------------------------------------------------
 */

/* Like the collector: as many at a time as it takes from its rings. */
static inline size_t by_us(struct bench *b, const struct work *w, size_t cnt)
{
	struct sample samples[BATCH];
	struct walk_job jobs[BATCH];
	size_t frames = 0;

	for (size_t i = 0; i < cnt;) {
		size_t n = 0;

		for (; n < BATCH && i < cnt; n++, i++) {
			if (i + EVENT_AHEAD < cnt)
				event__prefetch(w[i + EVENT_AHEAD].event);
			event__sample(w[i].event, &samples[n]);
			jobs[n] = (struct walk_job){ w[i].set->process, &samples[n], &b->traces[n],
						     false };
		}
		unwinder__try_many(b->unwinder, jobs, n);
		while (n)
			frames += b->traces[--n].cnt;
	}
	return frames;
}

static inline size_t by_libdwfl(struct bench *b, const struct work *w, size_t cnt)
{
	size_t frames = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct sample sample;

		event__sample(w[i].event, &sample);
		libdwflwalk__walk(b->naive, w[i].set->process, &sample, &b->traces[0]);
		frames += b->traces[0].cnt;
	}
	return frames;
}

static inline size_t by_libunwind(struct bench *b, const struct work *w, size_t cnt)
{
	size_t frames = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct libunwind *u = w[i].set->libunwind;
		const struct event *e = w[i].event;

		u->regs = (const uint64_t *)e->regs;
		u->stack = e->data;
		u->addr = e->stack_addr;
		u->sz = e->ustack_sz;
		frames += libunwind__walk(u, b->pcs, FRAMES_MAX);
	}
	return frames;
}

static inline size_t by_framehop(struct bench *b, const struct work *w, size_t cnt)
{
	size_t frames = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct event *e = w[i].event;
		const struct framehop_walk walk = { e->regs[16],   e->regs[7],	 e->regs[6],
						    e->stack_addr, e->ustack_sz, e->data };

		frames += framehop_walk(w[i].set->framehop, b->framehop_cache, &walk, b->pcs,
					FRAMES_MAX);
	}
	return frames;
}

static size_t (*const walkers[WHO_CNT])(struct bench *, const struct work *,
					size_t) = { by_us, by_libdwfl, by_libunwind, by_framehop };

static inline size_t who_cnt(void)
{
	return framehop_walk ? WHO_CNT : FRAMEHOP;
}

#endif
