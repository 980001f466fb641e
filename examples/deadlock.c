// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deadlock [SECONDS]: an event loop of one thread, busy and stuck. Two tasks, each a span
 * "transfer" (id: 1 and 2), take two locks in opposite order; after 100 ms each waits for the
 * other's, and is polled in vain no more. A third (a span "tick" each time, id: which one, from 1
 * on) goes on every 10 ms. Prints how many ticks there were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stacks_tracing.h"

#define NOINLINE __attribute__((noinline))
#define TICK_NS	 10000000
#define WORK_CNT 10 /* ticks that a transfer takes before it wants its second lock */

struct transfer {
	struct stacks_span span;
	int first, second; /* locks */
	int polls;
	int waits; /* until the lock is released: it is not polled */
};

static const struct transfer *owners[2]; /* of the locks */

static NOINLINE int lock(struct transfer *t, int which)
{
	if (owners[which] && owners[which] != t) {
		t->waits = 1;
		return 0;
	}
	owners[which] = t;
	return 1;
}

static NOINLINE void unlock(struct transfer *t, int which)
{
	if (owners[which] == t)
		owners[which] = NULL;
}

/* True: it is done. */
static NOINLINE int move_money(struct transfer *t)
{
	if (!lock(t, t->first) || ++t->polls < WORK_CNT || !lock(t, t->second))
		return 0;
	unlock(t, t->first);
	unlock(t, t->second);
	return 1;
}

static NOINLINE void poll_transfer(struct transfer *t)
{
	int done;

	if (t->waits)
		return;
	stacks_span__enter(&t->span);
	done = move_money(t);
	stacks_span__exit(&t->span);
	if (done)
		stacks_span__close(&t->span);
}

static NOINLINE void tick(uint64_t number)
{
	STACKS_SPAN("tick", .id = number);
	nanosleep(&(struct timespec){ .tv_nsec = TICK_NS }, NULL);
}

int main(int argc, char **argv)
{
	struct transfer a = { STACKS_SPAN_OPEN("transfer", .id = 1), 0, 1, 0, 0 };
	struct transfer b = { STACKS_SPAN_OPEN("transfer", .id = 2), 1, 0, 0, 0 };
	uint64_t ticks = (uint64_t)((argc > 1 ? atof(argv[1]) : 10) * 1e9 / TICK_NS), n = 0;

	while (n < ticks) {
		poll_transfer(&a);
		poll_transfer(&b);
		tick(++n);
	}
	printf("%lu ticks\n", n);
	return 0;
}
