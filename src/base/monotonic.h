/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MONOTONIC_H
#define BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* Returns CLOCK_MONOTONIC in ns: the clock of events and of all waiting. */
static inline uint64_t monotonic__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

#endif
