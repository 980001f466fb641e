/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts CLOCK_MONOTONIC, which events carry, to unix time, which rows carry.
 *
 * The offset is measured once, at the start. Later it grows only by the time for which the machine
 * was suspended (CLOCK_BOOTTIME counts that, CLOCK_MONOTONIC does not). If the wall clock is set,
 * rows keep the clock of the start, so that differences between rows stay exact.
 */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include <stdint.h>

struct clock {
	int64_t offset_ns;	 /* unix - monotonic at the start */
	int64_t suspended_ns;	 /* boottime - monotonic at the last update */
	int64_t slept_ns;	 /* suspended since the start, for times after since_ns */
	int64_t slept_before_ns; /* the same for times up to since_ns */
	uint64_t since_ns;
	uint64_t updated_ns;
};

void clock__init(struct clock *);
/* Detects a suspend. Call it about as often as events are read. */
void clock__update(struct clock *);
int64_t clock__unix_ns(const struct clock *, uint64_t monotonic_ns);

#endif
