// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of threads, and when it is dropped. */
#include "lib/test.h"

#include <stdlib.h>

#include "collector/slice.h"
#include "collector/threadtable.h"

static void made_on_first_sight(void **state)
{
	struct threads ts = { 0 };
	struct thread *t;

	(void)state;
	assert_null(threads__find(&ts, 7));
	t = threads__get(&ts, 7);
	assert_non_null(t);
	assert_int_equal(t->tid, 7);
	assert_false(t->exited);
	assert_ptr_equal(threads__get(&ts, 7), t);
	assert_ptr_equal(threads__find(&ts, 7), t);
	assert_null(threads__find(&ts, 8));
	assert_ptr_not_equal(threads__get(&ts, 8), t);
	threads__free(&ts);
	assert_null(threads__find(&ts, 7));
}

/* The last slice of a thread that exited may still wait for its row. */
static void exited_threads_are_removed_when_nothing_waits(void **state)
{
	struct threads ts = { 0 };

	(void)state;
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		struct thread *t = threads__get(&ts, tid);

		t->exited = tid % 2;
		if (tid % 3 == 0)
			t->pending = calloc(1, sizeof(*t->pending));
	}
	threads__sweep(&ts);
	for (uint32_t tid = 1; tid <= 1000; tid++)
		assert_int_equal(threads__find(&ts, tid) != NULL, tid % 2 == 0 || tid % 3 == 0);
	free(threads__find(&ts, 3)->pending);
	threads__find(&ts, 3)->pending = NULL;
	threads__sweep(&ts);
	assert_null(threads__find(&ts, 3));
	assert_non_null(threads__find(&ts, 9));
	threads__free(&ts); /* with pending slices */
}

/* The record of a thread's end may come before its first event, so the event makes it again. */
static void idle_threads_are_removed(void **state)
{
	struct threads ts = { 0 };

	(void)state;
	threads__get(&ts, 1);
	threads__get(&ts, 2)->pending = calloc(1, sizeof(struct resolved_event));
	threads__sweep(&ts);
	threads__get(&ts, 3);
	assert_non_null(threads__find(&ts, 1));
	assert_false(threads__is_idle(&ts, threads__find(&ts, 1)));
	threads__sweep(&ts);
	assert_null(threads__find(&ts, 1));
	assert_true(threads__is_idle(&ts, threads__find(&ts, 2)));
	assert_non_null(threads__find(&ts, 3));
	threads__get(&ts, 3);
	threads__sweep(&ts);
	assert_non_null(threads__find(&ts, 3));
	threads__sweep(&ts);
	assert_null(threads__find(&ts, 3));
	threads__free(&ts);
}

RUN_TESTS(cmocka_unit_test(made_on_first_sight), cmocka_unit_test(idle_threads_are_removed),
	  cmocka_unit_test(exited_threads_are_removed_when_nothing_waits))
