/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides where the events of a trace are drawn. A viewer draws the events of one thread id as
 * nested boxes, and drops or garbles events that overlap without being nested. Two examples are
 * what a thread does and when it is on a CPU, and several requests to a disk. Each query has its
 * own lanes on each thread, and one more where its events overlap. The first lane has the thread's
 * own id; others have ids that no thread has.
 */
#ifndef STACKSEXPORT_TRACE_LANES_H
#define STACKSEXPORT_TRACE_LANES_H

#include <stddef.h>
#include <stdint.h>

#define LANES_FIRST_ID (1 << 23) /* PID_MAX_LIMIT of the kernel is half of it */
#define LANES_MAX      256	 /* of one query on one thread; a viewer cannot show more */

struct lanes;

struct lanes *lanes__new(void); /* returns NULL and sets errno on failure */
void lanes__free(struct lanes *);

/* An event to be placed. The events of one query arrive in the order of .begin_ns, longer ones
 * first. */
struct lanes_event {
	int32_t query, pid, tid;
	int64_t begin_ns, end_ns;
};

/* Returns the thread id at which to draw the event (> 0), -E2BIG if LANES_MAX lanes are in use at
 * that time, or -ENOMEM. */
int32_t lanes__place(struct lanes *, const struct lanes_event *);

struct lane {
	int32_t id, query, nth; /* nth: number of the lane in its query, from 0 on */
};

/* Calls `take` for each lane of a thread. */
void lanes__each(const struct lanes *, int32_t pid, int32_t tid,
		 void (*take)(const struct lane *, void *arg), void *arg);

#endif
