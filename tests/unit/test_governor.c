// SPDX-License-Identifier: GPL-2.0-or-later
/* --budget: which source is thinned, and when it gets its events back. */
#include "lib/test.h"

#include "collector/governor.h"

#define MS 1000000ull

static struct governor_plan plan_of(uint64_t first_ns, uint64_t second_ns)
{
	return (struct governor_plan){ .cnt = 2,
				       .budget_ns = 50 * MS,
				       .sources = { { true, 1, first_ns },
						    { true, 1, second_ns } } };
}

static void within_the_budget_nothing_changes(void **state)
{
	struct governor_plan p = plan_of(20 * MS, 30 * MS);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(governor_plan__step(&p), -1);
}

static void the_costliest_source_is_thinned(void **state)
{
	struct governor_plan p = plan_of(20 * MS, 31 * MS);

	(void)state;
	assert_int_equal(governor_plan__step(&p), 1);
	assert_int_equal(p.sources[1].every, 2);
	assert_int_equal(p.sources[0].every, 1);
}

static void a_source_that_needs_every_event_is_left_alone(void **state)
{
	struct governor_plan p = plan_of(20 * MS, 80 * MS);

	(void)state;
	p.sources[1].can_thin = false;
	assert_int_equal(governor_plan__step(&p), 0);
	p.sources[0].cost_ns = 2 * MS; /* little is gained by thinning it */
	assert_int_equal(governor_plan__step(&p), -1);
}

static void other_costs_count(void **state)
{
	struct governor_plan p = plan_of(20 * MS, 10 * MS);

	(void)state;
	p.other_ns = 21 * MS;
	assert_int_equal(governor_plan__step(&p), 0);
}

static void thinning_has_an_end(void **state)
{
	struct governor_plan p = plan_of(1000000 * MS, 0);
	int steps = 0;

	(void)state;
	for (; governor_plan__step(&p) == 0; steps++)
		p.sources[0].cost_ns /= 2;
	assert_int_equal(steps, 12);
	assert_int_equal(p.sources[0].every, GOVERNOR_EVERY_MAX);
}

static void a_source_whose_cost_stays_is_not_thinned_further(void **state)
{
	struct governor_plan p = plan_of(100 * MS, 0);

	(void)state;
	assert_int_equal(governor_plan__step(&p), 0);
	assert_int_equal(governor_plan__step(&p), -1);
	p.sources[0].cost_ns = 300 * MS; /* more load */
	assert_int_equal(governor_plan__step(&p), 0);
}

static void a_step_is_taken_back_when_there_is_room_for_a_while(void **state)
{
	struct governor_plan p = plan_of(15 * MS, 11 * MS);
	int steps = 0;

	(void)state;
	p.sources[0].every = 4;
	p.sources[1].every = 8; /* the most thinned one comes first */
	while (governor_plan__step(&p) < 0)
		steps++;
	assert_in_range(steps, 2, 10);
	assert_int_equal(p.sources[1].every, 4);
	p.sources[0].cost_ns = 30 * MS; /* no room for twice the cost of either */
	for (int i = 0; i < 100; i++)
		assert_int_equal(governor_plan__step(&p), -1);
}

/* A source with a cost proportional to its events. */
static void it_settles_under_a_steady_load(void **state)
{
	struct governor_plan p = plan_of(0, 0);
	int late_changes = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		p.sources[0].cost_ns = 400 * MS / p.sources[0].every;
		late_changes += governor_plan__step(&p) >= 0 && i > 100;
	}
	assert_int_equal(late_changes, 0);
	assert_int_equal(p.sources[0].every, 8);
}

RUN_TESTS(cmocka_unit_test(within_the_budget_nothing_changes),
	  cmocka_unit_test(the_costliest_source_is_thinned),
	  cmocka_unit_test(a_source_that_needs_every_event_is_left_alone),
	  cmocka_unit_test(other_costs_count), cmocka_unit_test(thinning_has_an_end),
	  cmocka_unit_test(a_source_whose_cost_stays_is_not_thinned_further),
	  cmocka_unit_test(a_step_is_taken_back_when_there_is_room_for_a_while),
	  cmocka_unit_test(it_settles_under_a_steady_load))
