/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CPUTIME_H
#define BASE_CPUTIME_H

#include <stdint.h>
#include <time.h>

/* Returns the CPU time of all threads of this process in ns. */
static inline uint64_t cpu_time__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

#endif
