// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>

#include "base/monotonic.h"
#include "collector/clock.h"

#define SECOND 1000000000LL

static int64_t unix_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void the_clock_agrees_with_unix_time(void **state)
{
	struct clock c;
	int64_t before = unix_now(), at;

	(void)state;
	clock__init(&c);
	at = clock__unix_ns(&c, monotonic__ns());
	assert_true(at >= before - SECOND / 1000 && at <= unix_now() + SECOND / 1000);
}

/* As if the machine had been suspended for five seconds since the last update. */
static void a_suspend_counts_from_when_it_was(void **state)
{
	struct clock c;
	uint64_t before = monotonic__ns();
	int64_t unix_before;

	(void)state;
	clock__init(&c);
	unix_before = clock__unix_ns(&c, before);
	c.suspended_ns -= 5 * SECOND;
	clock__update(&c);
	assert_int_equal(clock__unix_ns(&c, before), unix_before);
	assert_true(llabs(clock__unix_ns(&c, before + 100 * SECOND) - unix_before - 105 * SECOND) <
		    SECOND / 1000);
	/* a second one adds up */
	c.suspended_ns -= 2 * SECOND;
	clock__update(&c);
	assert_true(llabs(clock__unix_ns(&c, before + 100 * SECOND) - unix_before - 107 * SECOND) <
		    SECOND / 1000);
}

static void jitter_is_no_suspend(void **state)
{
	struct clock c;
	int64_t at;

	(void)state;
	clock__init(&c);
	at = clock__unix_ns(&c, 1);
	for (int i = 0; i < 1000; i++)
		clock__update(&c);
	assert_int_equal(clock__unix_ns(&c, 1), at);
	assert_int_equal(clock__unix_ns(&c, UINT64_MAX / 4) - (int64_t)(UINT64_MAX / 4), at - 1);
}

RUN_TESTS(cmocka_unit_test(the_clock_agrees_with_unix_time),
	  cmocka_unit_test(a_suspend_counts_from_when_it_was),
	  cmocka_unit_test(jitter_is_no_suspend))
