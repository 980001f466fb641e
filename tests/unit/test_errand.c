// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that do not return: the caller goes on, and other users' calls are made. */
#include "lib/test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/thread.h"

/* A thread that starts late, as on a busy machine: after a byte in this pipe, if it is there. */
static int start_gate = -1;
static void *(*start_fn)(void *);

static void *start_run(void *arg)
{
	char byte;

	assert_int_equal(read(start_gate, &byte, 1), 1);
	return start_fn(arg);
}

static int start_late(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	start_fn = fn;
	return thread__start_punctual(thread, start_gate < 0 ? fn : start_run, arg);
}

#define thread__start_punctual start_late
#include "base/errand.c"

struct call {
	struct errand errand;
	uint64_t by;
	int gate; /* `run` reads a byte; -1: it returns at once */
	bool ran;
};

static atomic_int dropped;

static void call_run(struct errand *e)
{
	struct call *c = (struct call *)e;
	char byte;

	if (c->gate >= 0)
		assert_int_equal(read(c->gate, &byte, 1), 1);
	c->ran = true;
}

static void call_drop(struct errand *e)
{
	free(e);
	atomic_fetch_add(&dropped, 1);
}

static uint64_t call_user(const struct errand *e)
{
	return ((const struct call *)e)->by;
}

static struct call *call_new(uint64_t by, int gate)
{
	struct call *c = calloc(1, sizeof(*c));

	c->errand = (struct errand){ .run = call_run, .drop = call_drop, .user = call_user };
	c->by = by;
	c->gate = gate;
	return c;
}

static bool is_served(struct errands *s, uint64_t by)
{
	struct call *c = call_new(by, -1);

	if (!errands__run(s, &c->errand))
		return false;
	assert_true(c->ran);
	free(c);
	return true;
}

static void wait_dropped(int cnt)
{
	while (atomic_load(&dropped) < cnt)
		usleep(1000);
}

static void runs_in_another_thread(void **state)
{
	struct errands *s = errands__new();

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(is_served(s, 1));
	errands__free(s);
}

static void runs_in_the_callers_thread_without_a_pool(void **state)
{
	(void)state;
	assert_true(is_served(NULL, 1));
}

static void gives_up_a_call_that_does_not_return(void **state)
{
	struct errands *s = errands__new();
	uint64_t begin_ns = monotonic__ns();
	int gate[2], before = atomic_load(&dropped);

	(void)state;
	assert_int_equal(pipe(gate), 0);
	assert_false(errands__run(s, &call_new(7, gate[0])->errand));
	assert_in_range(monotonic__ns() - begin_ns, 400000000, 1900000000);
	assert_int_equal(atomic_load(&dropped), before);
	assert_false(is_served(s, 7)); /* dropped unrun */
	assert_true(is_served(s, 8));
	assert_int_equal(write(gate[1], "x", 1), 1);
	wait_dropped(before + 2);
	assert_false(is_served(s, 7)); /* it returned late */
	assert_true(is_served(s, 8));
	errands__free(s);
	close(gate[0]);
	close(gate[1]);
}

static void a_thread_that_starts_too_late_ends_its_call(void **state)
{
	struct errands *s = errands__new();
	int gate[2], before = atomic_load(&dropped);

	(void)state;
	assert_int_equal(pipe(gate), 0);
	start_gate = gate[0];
	assert_false(errands__run(s, &call_new(7, -1)->errand));
	assert_int_equal(write(gate[1], "x", 1), 1);
	wait_dropped(before + 1);
	start_gate = -1;
	assert_true(is_served(s, 8));
	errands__free(s);
	close(gate[0]);
	close(gate[1]);
}

static void leaves_a_hanging_thread_behind_at_the_end(void **state)
{
	struct errands *s = errands__new();
	int gate[2], before = atomic_load(&dropped);

	(void)state;
	assert_int_equal(pipe(gate), 0);
	assert_false(errands__run(s, &call_new(7, gate[0])->errand));
	errands__free(s);
	assert_int_equal(write(gate[1], "x", 1), 1);
	wait_dropped(before + 1);
	close(gate[0]);
	close(gate[1]);
}

/* However many users hang, or let the caller wait for almost the limit. */
static void waits_have_a_limit_together(void **state)
{
	struct errands *s = errands__new();
	uint64_t begin_ns = monotonic__ns();
	int gate[2], before = atomic_load(&dropped);

	(void)state;
	assert_int_equal(pipe(gate), 0);
	for (uint64_t by = 1; by <= 16; by++)
		assert_false(errands__run(s, &call_new(by, gate[0])->errand));
	assert_in_range(monotonic__ns() - begin_ns, 1000000000, 4000000000);
	assert_true(is_served(s, 99));
	assert_int_equal(write(gate[1], "xxxxxxxxxxxxxxxx", 16), 16);
	wait_dropped(before + 16);
	errands__free(s);
	close(gate[0]);
	close(gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_in_another_thread),
		cmocka_unit_test(runs_in_the_callers_thread_without_a_pool),
		cmocka_unit_test(gives_up_a_call_that_does_not_return),
		cmocka_unit_test(a_thread_that_starts_too_late_ends_its_call),
		cmocka_unit_test(leaves_a_hanging_thread_behind_at_the_end),
		cmocka_unit_test(waits_have_a_limit_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
