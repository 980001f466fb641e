// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spans_async [TASKS] [STEPS]: an event loop of one thread with many tasks in flight. Each task is
 * a span "task" (id: its number, from 1 on; amount: STEPS) that the loop enters for each of its
 * STEPS, one every 10 ms; what a step does is a span "step" inside of it (id: the task's, amount:
 * which step), and the task's span is closed after the last one. Prints how many steps there were,
 * and seconds by the program's own clock inside of them: "20 tasks 100 steps 0.052".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "stacks_tracing.h"

#define NOINLINE    __attribute__((noinline))
#define INTERVAL_NS 10000000
#define STEP_NS	    500000 /* of CPU */

struct task {
	struct stacks_span span;
	int timer;
	uint64_t done; /* steps */
};

struct loop {
	int epoll;
	uint64_t step_cnt; /* of each task */
	uint64_t steps, ns;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void task__start(struct task *t, struct loop *loop, uint64_t number)
{
	const struct itimerspec every = { { .tv_nsec = INTERVAL_NS }, { .tv_nsec = INTERVAL_NS } };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = t };

	t->span = STACKS_SPAN_OPEN("task", .id = number, .amount = loop->step_cnt);
	t->timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (t->timer < 0 || timerfd_settime(t->timer, 0, &every, NULL) ||
	    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, t->timer, &event)) {
		/* perror() is cold in glibc 2.41: GCC would cut this function in two */
		fprintf(stderr, "timer: %m\n");
		exit(1);
	}
}

static NOINLINE void task__step(struct task *t, struct loop *loop)
{
	STACKS_SPAN("step", .id = t->span.id, .amount = t->done);
	uint64_t start_ns = now_ns();

	while (now_ns() - start_ns < STEP_NS)
		;
	t->done++;
	loop->steps++;
	loop->ns += now_ns() - start_ns;
}

/* What an executor does when a task can go on. */
static NOINLINE void task__poll(struct task *t, struct loop *loop)
{
	uint64_t ticks;

	stacks_span__enter(&t->span);
	if (read(t->timer, &ticks, sizeof(ticks)) == sizeof(ticks))
		task__step(t, loop);
	stacks_span__exit(&t->span);
	if (t->done == loop->step_cnt) {
		close(t->timer);
		stacks_span__close(&t->span);
	}
}

static void loop__run(struct loop *loop, uint64_t steps)
{
	while (loop->steps < steps) {
		struct epoll_event ready[16];
		int cnt = epoll_wait(loop->epoll, ready, 16, -1);

		for (int i = 0; i < cnt; i++)
			task__poll(ready[i].data.ptr, loop);
	}
}

int main(int argc, char **argv)
{
	uint64_t cnt = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	struct loop loop = { .epoll = epoll_create1(0),
			     .step_cnt = argc > 2 ? strtoul(argv[2], NULL, 10) : 5 };
	struct task *tasks = calloc(cnt, sizeof(*tasks));

	if (!tasks || !loop.step_cnt)
		return 2;
	for (uint64_t i = 0; i < cnt; i++)
		task__start(&tasks[i], &loop, i + 1);
	loop__run(&loop, cnt * loop.step_cnt);
	printf("%lu tasks %lu steps %.6f\n", cnt, loop.steps, (double)loop.ns / 1e9);
	free(tasks);
	return 0;
}
