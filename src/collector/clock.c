// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/clock.h"

#include <time.h>

#include "base/monotonic.h"

#define SUSPEND_MIN_NS 1000000 /* less is the jitter of reading two clocks */

static int64_t clock_now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Returns `id` minus CLOCK_MONOTONIC. Uses the fastest of five readings, so that preemption does
 * not count. */
static int64_t clock_ahead_of_monotonic(clockid_t id)
{
	int64_t best = 0, best_took = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t before = clock_now(CLOCK_MONOTONIC);
		int64_t at = clock_now(id);
		int64_t took = clock_now(CLOCK_MONOTONIC) - before;

		if (took < best_took) {
			best_took = took;
			best = at - before - took / 2;
		}
	}
	return best;
}

void clock__init(struct clock *c)
{
	*c = (struct clock){
		.offset_ns = clock_ahead_of_monotonic(CLOCK_REALTIME),
		.suspended_ns = clock_ahead_of_monotonic(CLOCK_BOOTTIME),
		.updated_ns = monotonic__ns(),
	};
}

void clock__update(struct clock *c)
{
	int64_t suspended = clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC);

	if (suspended - c->suspended_ns > SUSPEND_MIN_NS) {
		suspended = clock_ahead_of_monotonic(CLOCK_BOOTTIME);
		c->slept_before_ns = c->slept_ns;
		c->slept_ns += suspended - c->suspended_ns;
		c->suspended_ns = suspended;
		c->since_ns = c->updated_ns;
	}
	c->updated_ns = monotonic__ns();
}

int64_t clock__unix_ns(const struct clock *c, uint64_t monotonic_ns)
{
	int64_t slept = monotonic_ns > c->since_ns ? c->slept_ns : c->slept_before_ns;

	return (int64_t)monotonic_ns + c->offset_ns + slept;
}
