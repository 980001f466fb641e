// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/emit.bpf.c: rates that change while events are recorded. Sums by weight stay what was done.
 */
#include "lib/capture_take.h"

#include <fcntl.h>

#define CALLS	40000
#define CHANGES 10
#define PARTS	(CHANGES + 1)
#define BYTES	3
#define PAGE	4096

struct work {
	volatile unsigned allowed, done; /* parts of the work */
	uint8_t *pages;
};

/* Writes BYTES bytes CALLS times, and touches as many pages, in PARTS equal parts. */
static void work(void *arg)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct work *w = arg;

	for (unsigned i = 0; i < CALLS; i++) {
		w->done = i * PARTS / CALLS;
		while (w->done >= w->allowed)
			usleep(200);
		if (write(fd, "abc", BYTES) != BYTES)
			_exit(1);
		w->pages[(size_t)i * PAGE] = 1;
	}
	w->done = PARTS;
	for (;;)
		pause();
}

static void thin(struct take *t, uint32_t every)
{
	for (size_t i = 0; i < t->options.probe_cnt; i++)
		capture__thin(t->capture, t->choices[i].probe, every);
}

struct sums {
	uint64_t rows, weight, amount;
};

/* The sanitizer's shadow memory faults, too. */
static bool is_of_work(const struct event *e, const struct work *w)
{
	const struct event_address *at = event__detail(e);

	return e->kind != EVENT_FAULT || at->address - (uintptr_t)w->pages < (size_t)CALLS * PAGE;
}

static struct sums sums_of(const struct take *t, const struct work *w, enum event_kind kind)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < t->cnt; i++) {
		const struct event *e = t->events[i];

		if (e->kind != kind || !is_of_work(e, w))
			continue;
		s.rows++;
		s.weight += e->weight;
		s.amount += e->weight * e->amount;
	}
	return s;
}

static void assert_near(uint64_t value, uint64_t expected)
{
	assert_in_range(value, expected - expected * 3 / 100, expected + expected * 3 / 100);
}

static void sums_are_right_while_the_rate_changes_ten_times(void **state)
{
	static const uint32_t rates[CHANGES] = { 2, 4, 8, 16, 8, 32, 5, 2, 10, 1 };
	struct work *w = take__shared(sizeof(*w));
	struct take t = { .options = { .thins = true, .ring_sz = 16 << 20 } };
	struct sums writes, faults;
	uint32_t pid;

	(void)state;
	w->pages = mmap(NULL, (size_t)CALLS * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w->pages, MAP_FAILED);
	assert_int_equal(madvise(w->pages, (size_t)CALLS * PAGE, MADV_NOHUGEPAGE), 0);
	pid = (uint32_t)take__fork(work, w);
	t.options.filter = (struct capture_filter){ .pids = &pid, .pid_cnt = 1 };
	take__begin(&t, "vfs:n,fault:n:0");
	for (unsigned part = 0; part < PARTS; part++) {
		if (part)
			thin(&t, rates[part - 1]);
		w->allowed = part + 1;
		while (w->done < part + 1)
			take__look_again(&t);
	}
	take__end(&t);
	take__kill((pid_t)pid);
	assert_int_equal(t.lost, 0);
	writes = sums_of(&t, w, EVENT_VFS_WRITE);
	faults = sums_of(&t, w, EVENT_FAULT);
	assert_in_range(writes.rows, CALLS / 5, CALLS / 2);
	assert_near(writes.weight, CALLS);
	assert_near(writes.amount, CALLS * BYTES);
	assert_near(faults.weight, CALLS);
	take__free(&t);
}

RUN_TESTS(ROOT_TEST(sums_are_right_while_the_rate_changes_ten_times))
