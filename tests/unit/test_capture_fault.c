// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/fault.bpf.c: page faults of user code, equal by each way. */
#include "lib/capture_take.h"

#define PAGES	  1000
#define PAGE	  4096
#define CPU_SLACK 8 /* CPUs that the child may have used: each omits up to N - 1 faults */

struct touching {
	int go[2];
	volatile bool done;
	volatile uint8_t *first;
};

/* Touches each page once on request, and waits to be killed. */
static void touch(void *arg)
{
	struct touching *t = arg;
	uint8_t byte;

	if (read(t->go[0], &byte, 1) != 1)
		_exit(1);
	for (size_t i = 0; i < PAGES; i++)
		t->first[i * PAGE] = 1;
	t->done = true;
	for (;;)
		pause();
}

static void check(const struct take *t, pid_t pid, const struct touching *child, uint64_t every)
{
	uint64_t first = (uint64_t)(uintptr_t)child->first, weight = 0;

	for (size_t i = 0; i < t->cnt; i++) {
		const struct event *e = t->events[i];
		struct event_address a;

		assert_int_equal(e->kind, EVENT_FAULT);
		assert_int_equal(e->tgid, pid);
		assert_int_equal(e->weight, every);
		assert_true(e->flags & EVENT_F_USER);
		assert_int_equal(e->detail, EVENT_DETAIL_ADDRESS);
		assert_int_equal(e->detail_sz, sizeof(a));
		memcpy(&a, event__detail(e), sizeof(a));
		if (a.address - first >= PAGES * PAGE)
			continue;
		assert_int_equal((a.address - first) % PAGE, 0);
		weight += e->weight;
	}
	/* A program that interrupted itself has lost one event, of any process. */
	assert_in_range(weight, 0, PAGES + CPU_SLACK * (every - 1));
	assert_true(weight + t->lost * every >= PAGES - CPU_SLACK * (every - 1));
}

static void faults(const char *way, const char *programs, uint64_t every)
{
	struct touching *child = take__shared(sizeof(*child));
	struct take t = { .way = way, .options.ring_sz = 32 << 20 }; /* a burst is not drained */
	uint32_t pid;

	child->first = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	assert_ptr_not_equal(child->first, MAP_FAILED);
	assert_int_equal(pipe(child->go), 0);
	pid = (uint32_t)take__fork(touch, child);
	t.options.filter = (struct capture_filter){ .pids = &pid, .pid_cnt = 1 };
	take__begin(&t, programs);
	assert_int_equal(write(child->go[1], "", 1), 1);
	while (!child->done)
		take__for(&t, 5);
	take__end(&t);
	check(&t, (pid_t)pid, child, every);
	take__free(&t);
	take__kill((pid_t)pid);
}

static void faults_are_counted_by_the_tracepoint(void **state)
{
	(void)state;
	faults("tp", "fault:u:0", 1);
	faults("tp", "fault:u:29", 29);
}

static void faults_are_counted_by_perf_events(void **state)
{
	(void)state;
	faults("perf", "fault:u:0", 1);
	faults("perf", "fault:u:29", 29);
}

RUN_TESTS(ROOT_TEST(faults_are_counted_by_the_tracepoint),
	  ROOT_TEST(faults_are_counted_by_perf_events))
