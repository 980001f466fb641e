// SPDX-License-Identifier: GPL-2.0-or-later
/* Lanes: nested events share one, others get another. */
#include "lib/test.h"

#include <errno.h>

#include "stacksexport/trace/lanes.h"

static int32_t place(struct lanes *l, int32_t query, int64_t begin_ns, int64_t end_ns)
{
	struct lanes_event e = {
		.query = query, .pid = 10, .tid = 11, .begin_ns = begin_ns, .end_ns = end_ns
	};

	return lanes__place(l, &e);
}

static void nested_or_apart(void **state)
{
	struct lanes *l = lanes__new();

	(void)state;
	assert_int_equal(place(l, 0, 0, 100), 11);
	assert_int_equal(place(l, 0, 0, 100), 11);
	assert_int_equal(place(l, 0, 10, 20), 11);
	assert_int_equal(place(l, 0, 20, 100), 11);
	assert_int_equal(place(l, 0, 100, 100), 11);
	assert_int_equal(place(l, 0, 100, 300), 11);
	lanes__free(l);
}

static void overlaps_get_new_lanes(void **state)
{
	struct lanes *l = lanes__new();

	(void)state;
	assert_int_equal(place(l, 0, 0, 100), 11);
	assert_int_equal(place(l, 0, 50, 150), LANES_FIRST_ID);
	assert_int_equal(place(l, 0, 60, 100), 11);
	assert_int_equal(place(l, 0, 70, 120), LANES_FIRST_ID);
	assert_int_equal(place(l, 0, 80, 160), LANES_FIRST_ID + 1);
	assert_int_equal(place(l, 0, 120, 130), 11);
	lanes__free(l);
}

static void note(const struct lane *lane, void *arg)
{
	int32_t *at = *(int32_t **)arg;

	*at++ = lane->id;
	*at++ = lane->query;
	*at++ = lane->nth;
	*(int32_t **)arg = at;
}

static void queries_are_apart(void **state)
{
	static const int32_t expected[] = {
		11, 0, 0, LANES_FIRST_ID, 2, 0, LANES_FIRST_ID + 1, 2, 1
	};
	struct lanes *l = lanes__new();
	int32_t seen[16] = { 0 }, *at = seen;

	(void)state;
	place(l, 0, 0, 100);
	place(l, 2, 0, 10);
	place(l, 2, 5, 15);
	lanes__each(l, 10, 11, note, &at);
	assert_int_equal(at - seen, 9);
	assert_memory_equal(seen, expected, sizeof(expected));
	lanes__each(l, 10, 12, note, &at);
	assert_int_equal(at - seen, 9);
	lanes__free(l);
}

static void threads_are_apart(void **state)
{
	struct lanes *l = lanes__new();
	struct lanes_event other = { .pid = 12, .tid = 11, .begin_ns = 5, .end_ns = 500 };
	struct lanes_event none = { .begin_ns = 5, .end_ns = 500 };

	(void)state;
	assert_int_equal(place(l, 0, 0, 100), 11);
	assert_int_equal(lanes__place(l, &other), 11);
	assert_int_equal(lanes__place(l, &none), LANES_FIRST_ID); /* viewers treat 0 as the pid */
	lanes__free(l);
}

static void too_many_lanes_are_an_error(void **state)
{
	struct lanes *l = lanes__new();

	(void)state;
	for (int i = 0; i < LANES_MAX; i++)
		assert_true(place(l, 0, i, 1000 + i) > 0);
	assert_int_equal(place(l, 0, LANES_MAX, 2000), -E2BIG);
	assert_int_equal(place(l, 0, 999, 1000), 11);
	assert_true(place(l, 1, 0, 1000) > 0);
	lanes__free(l);
}

RUN_TESTS(cmocka_unit_test(nested_or_apart), cmocka_unit_test(overlaps_get_new_lanes),
	  cmocka_unit_test(queries_are_apart), cmocka_unit_test(threads_are_apart),
	  cmocka_unit_test(too_many_lanes_are_an_error))
