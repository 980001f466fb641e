/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits, the earliest first, of equal ones the first that came. Recordings are made of runs
 * that are in order, one for each CPU, so that they are merged; where all is in order already
 * nothing moves.
 */
#ifndef STACKTRACE_TIMEORDER_H
#define STACKTRACE_TIMEORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiting {
	uint64_t time_ns, idx;
};

/* All zero at the beginning. */
struct timeorder {
	struct waiting *v, *spare; /* v[at, cnt) waits */
	size_t at, cnt, cap;
	bool unsorted;
};

void timeorder__free(struct timeorder *);
int timeorder__add(struct timeorder *, struct waiting); /* 0 or -ENOMEM */
/* The earliest, until the next call; NULL: nothing waits. */
const struct waiting *timeorder__first(struct timeorder *);
void timeorder__step(struct timeorder *); /* over the earliest, which was looked at */

#endif
