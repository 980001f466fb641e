/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stable priority queue by time: the earliest entry first, equal times in insertion order. A
 * recording consists of sorted runs, one per CPU, so sorting merges runs. Input that is already in
 * order is not moved.
 */
#ifndef STACKTRACE_TIMEORDER_H
#define STACKTRACE_TIMEORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeorder_entry {
	uint64_t time_ns, idx;
};

/* Initialize with zeros. */
struct timeorder {
	struct timeorder_entry *v, *spare; /* v[at, cnt) is queued */
	size_t at, cnt, cap;
	bool unsorted;
};

void timeorder__free(struct timeorder *);
int timeorder__add(struct timeorder *, struct timeorder_entry); /* 0 or -ENOMEM */
/* Returns the earliest entry, valid until the next call, or NULL if the queue is empty. */
const struct timeorder_entry *timeorder__first(struct timeorder *);
void timeorder__step(struct timeorder *); /* removes the result of _first() */

#endif
