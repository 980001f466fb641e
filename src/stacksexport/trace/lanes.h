/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the events of a trace are drawn. A viewer draws those of one thread id as nested boxes, and
 * drops or garbles what overlaps without being nested: what a thread does and when it is on a CPU,
 * or several requests to a disk. Each query gets lanes of its own on each thread, and one more
 * where its events overlap; the first lane has the thread's own id, others have ids that no thread
 * has.
 */
#ifndef STACKSEXPORT_TRACE_LANES_H
#define STACKSEXPORT_TRACE_LANES_H

#include <stddef.h>
#include <stdint.h>

#define LANES_FIRST_ID (1 << 23) /* PID_MAX_LIMIT of the kernel is half of it */
#define LANES_MAX      256	 /* of one query on one thread: more is no picture */

struct lanes;

struct lanes *lanes__new(void); /* NULL + errno */
void lanes__free(struct lanes *);

/* What is placed; events of one query come in order of .begin_ns, longer ones first. */
struct lanes_event {
	int32_t query, pid, tid;
	int64_t begin_ns, end_ns;
};

/* The id to draw it at: > 0. -E2BIG: LANES_MAX lanes are in use at that time. -ENOMEM. */
int32_t lanes__place(struct lanes *, const struct lanes_event *);

struct lane {
	int32_t id, query, nth; /* nth: of its query, from 0 on */
};

/* Calls `take` for each lane of a thread. */
void lanes__each(const struct lanes *, int32_t pid, int32_t tid,
		 void (*take)(const struct lane *, void *arg), void *arg);

#endif
