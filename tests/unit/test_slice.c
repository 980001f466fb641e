// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include "collector/slice.h"

static struct resolved_event slice(uint64_t start_ns, uint64_t end_ns, uint64_t runnable_ns)
{
	return (struct resolved_event){ .event = { .time_ns = end_ns,
						   .duration_ns = end_ns - start_ns,
						   .runnable_ns = runnable_ns,
						   .flags = runnable_ns ? EVENT_F_RUNNABLE : 0 } };
}

static void joins_over_a_short_gap(void **state)
{
	struct resolved_event a = slice(100, 200, 5), b = slice(209, 300, 7),
			      c = slice(309, 400, 0);

	(void)state;
	b.event.state = EVENT_STATE_DISK_SLEEP;
	b.ustack_id = 77;
	assert_true(slice__join(&b, &a, 10));
	assert_int_equal(b.event.duration_ns, 200);
	assert_int_equal(b.gaps_ns, 9);
	assert_int_equal(b.event.runnable_ns, 12);
	assert_int_equal(b.event.state, EVENT_STATE_DISK_SLEEP);
	assert_int_equal(b.ustack_id, 77);
	assert_true(slice__join(&c, &b, 10));
	assert_int_equal(c.event.duration_ns, 300);
	assert_int_equal(c.gaps_ns, 18);
	assert_int_equal(c.event.runnable_ns, 12);
	assert_true(c.event.flags & EVENT_F_RUNNABLE);
}

static void keeps_what_is_apart(void **state)
{
	struct resolved_event a = slice(100, 200, 5), b = slice(210, 300, 7),
			      early = slice(150, 300, 0);

	(void)state;
	assert_false(slice__join(&b, &a, 10));
	assert_int_equal(b.event.duration_ns, 90);
	assert_int_equal(b.gaps_ns, 0);
	assert_false(slice__join(&early, &a, 10));
	assert_int_equal(early.event.duration_ns, 150);
}

/* On-CPU time is duration - gaps, for any joined slices; the total times stay. */
static void no_sum_changes(void **state)
{
	struct resolved_event joined = slice(0, 10, 0);
	uint64_t on_cpu = 10, end = 10;

	(void)state;
	for (uint64_t i = 1; i < 1000; i++) {
		uint64_t start = end + i % 9, stop = start + i % 7;
		struct resolved_event next = slice(start, stop, 0);

		on_cpu += stop - start;
		end = stop;
		assert_true(slice__join(&next, &joined, 9));
		joined = next;
	}
	assert_int_equal(joined.event.duration_ns, end);
	assert_int_equal(joined.event.duration_ns - joined.gaps_ns, on_cpu);
}

RUN_TESTS(cmocka_unit_test(joins_over_a_short_gap), cmocka_unit_test(keeps_what_is_apart),
	  cmocka_unit_test(no_sum_changes))
