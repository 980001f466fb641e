/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A short recording for a test: copies of the captured records, in their order. */
#ifndef UNIT_CAPTURE_TAKE_H
#define UNIT_CAPTURE_TAKE_H

#include "lib/test.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "lib/live_rig.h"

struct take {
	struct capture_options options;
	const char *way; /* NULL, or the only way of the first probe */
	struct probe one_way;
	struct probe_choice choices[PROBE_CHOICE_MAX];
	struct capture *capture;
	struct streams streams;
	struct event **events;
	size_t cnt;
	uint64_t lost, begin_ns, end_ns;
};

static inline uint64_t take__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline void take__keep_one(const struct record *r, void *arg)
{
	size_t sz = event__sz(r->event);
	struct take *t = arg;

	if (t->cnt % 1024 == 0)
		t->events = realloc(t->events, (t->cnt + 1024) * sizeof(*t->events));
	assert_non_null(t->events);
	t->events[t->cnt] = malloc(sz);
	assert_non_null(t->events[t->cnt]);
	memcpy(t->events[t->cnt++], r->event, sz);
}

static inline void take__keep(const struct record *r, size_t cnt, void *arg)
{
	while (cnt--)
		take__keep_one(r++, arg);
}

static inline void take__lose(const struct capture_loss *l, void *arg)
{
	print_message("lost: %s %s %lu\n", l->probe, l->reason, (unsigned long)l->cnt);
	((struct take *)arg)->lost += l->cnt;
}

static inline void take__drain(void *arg)
{
	struct take *t = arg;

	merge__drain(&t->streams, take__now(), take__keep, t);
	capture__woken(t->capture);
	capture__losses(t->capture, take__lose, t);
}

/* Loads the programs; the caller may change t->options before. */
static inline void take__load(struct take *t, const char *programs)
{
	struct stream *const *streams;
	char why[256] = "";
	int cnt = probes__parse(strdupa(programs), t->choices, why, sizeof(why));

	assert_string_equal(why, "");
	if (t->way) {
		t->one_way = *t->choices[0].probe;
		t->one_way.ways[0] = t->way;
		t->one_way.ways[1] = NULL;
		t->choices[0].probe = &t->one_way;
	}
	t->options.probes = t->choices;
	t->options.probe_cnt = (size_t)cnt;
	t->options.stack_sz = t->options.stack_sz ? t->options.stack_sz : 65536;
	t->options.ring_sz = t->options.ring_sz ? t->options.ring_sz : 4 << 20;
	t->capture = capture__new(&t->options);
	assert_non_null(t->capture);
	t->streams.cnt = capture__streams(t->capture, &streams);
	t->streams.v = calloc(t->streams.cnt, sizeof(*t->streams.v));
	assert_non_null(t->streams.v);
	memcpy(t->streams.v, streams, t->streams.cnt * sizeof(*streams));
	assert_int_equal(capture__load(t->capture), 0);
}

static inline void take__begin(struct take *t, const char *programs)
{
	t->options.drain = take__drain;
	t->options.drain_arg = t;
	take__load(t, programs);
	assert_int_equal(capture__begin(t->capture, &t->begin_ns), 0);
}

static inline void take__for(struct take *t, unsigned ms)
{
	for (uint64_t end_ns = take__now() + ms * 1000000ull; take__now() < end_ns;) {
		usleep(2000);
		take__drain(t);
	}
}

/* Called between two checks of an expected event; fails after two minutes, for busy machines. */
static inline void take__look_again(struct take *t)
{
	assert_true(take__now() - t->begin_ns < 120000000000);
	usleep(2000);
	take__drain(t);
}

static inline void take__end(struct take *t)
{
	assert_int_equal(capture__end(t->capture, &t->end_ns), 0);
	take__drain(t);
}

static inline void take__free(struct take *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		free(t->events[i]);
	free(t->events);
	free(t->streams.v);
	capture__free(t->capture);
}

/* Returns the next event of a thread from index *i on; NULL after the last. */
static inline const struct event *take__next(const struct take *t, size_t *i, pid_t tid)
{
	while (*i < t->cnt) {
		const struct event *e = t->events[(*i)++];

		if ((pid_t)e->tid == tid)
			return e;
	}
	return NULL;
}

static inline size_t take__count(const struct take *t, pid_t tid)
{
	size_t i = 0, cnt = 0;

	while (take__next(t, &i, tid))
		cnt++;
	return cnt;
}

/* Waits until the thread has that many events. */
static inline void take__wait(struct take *t, pid_t tid, size_t cnt)
{
	while (take__count(t, tid) < cnt)
		take__look_again(t);
}

/* Returns the first event of a thread, which must have one. */
static inline const struct event *take__first(const struct take *t, pid_t tid)
{
	size_t i = 0;
	const struct event *e = take__next(t, &i, tid);

	assert_non_null(e);
	return e;
}

/* ---- processes to record ------------------------------------------------------------------------
 */

/* Returns memory shared with the child, freed with the process. */
static inline void *take__shared(size_t sz)
{
	void *p = mmap(NULL, sz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* Starts a child that runs fn(arg) and never returns; it dies with the test. */
static inline pid_t take__fork(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fn(arg);
	_exit(0);
}

static inline void take__kill(pid_t pid)
{
	assert_true(pid > 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static inline void take__needs_root(void **state)
{
	(void)state;
	skip_because("loading BPF programs needs root");
}

/* A row of RUN_TESTS. */
#define ROOT_TEST(fn)                                                            \
	{                                                                        \
		.name = #fn, .test_func = geteuid() == 0 ? fn : take__needs_root \
	}

#endif
