// SPDX-License-Identifier: GPL-2.0-or-later
/* Deferred events: in order, with limits of time and memory. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deferred.h"

#define WAIT_NS	 1000
#define EVENT_SZ 4096 /* with its stack */
#define EACH	 10   /* events of a process */
#define ALL	 15

struct rig {
	struct deferred *deferred;
	struct event *event;
	uint64_t ready; /* process 1 can continue until this event, process 2 not at all */
	char out[256];	/* "tgid.id", with a ! for the last try */
};

static int setup(void **state)
{
	const struct deferred_options options = { .max_sz = ALL * (EVENT_SZ + 400),
						  .each_sz = EACH * (EVENT_SZ + 400),
						  .wait_ns = WAIT_NS };
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	r->event = calloc(1, EVENT_SZ);
	r->event->ustack_sz = EVENT_SZ - sizeof(*r->event);
	r->deferred = deferred__new(&options);
	return r->deferred ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	deferred__free(r->deferred);
	free(r->event);
	free(r);
	return 0;
}

static bool take(const struct deferred_entry *in, bool last, void *arg)
{
	struct rig *r = arg;
	size_t at = strlen(r->out);

	assert_int_equal(in->event->ustack_sz, EVENT_SZ - sizeof(*in->event));
	if (!last && (in->tgid != 1 || in->event->id > r->ready))
		return false;
	snprintf(r->out + at, sizeof(r->out) - at, "%u.%lu%s ", in->tgid,
		 (unsigned long)in->event->id, last ? "!" : "");
	return true;
}

static void add(struct rig *r, uint32_t tgid, uint64_t id, uint64_t now_ns)
{
	r->event->id = id;
	r->event->tgid = tgid;
	assert_int_equal(deferred__add(r->deferred,
				       &(struct deferred_entry){ tgid, r->event, NULL }, now_ns),
			 0);
	deferred__relieve(r->deferred, tgid, take, r);
}

static const char *retry(struct rig *r, uint64_t now_ns)
{
	*r->out = '\0';
	/* A turn ends early if the machine took the CPU away for so long. */
	while (!deferred__retry(r->deferred, now_ns, take, r))
		;
	return r->out;
}

static void events_come_back_in_order(void **state)
{
	struct rig *r = *state;

	assert_int_equal(deferred__due_ns(r->deferred), UINT64_MAX);
	for (uint64_t i = 1; i < 5; i++) {
		add(r, 1, i, i);
		add(r, 2, i, i);
	}
	assert_true(deferred__holds(r->deferred, 1));
	assert_false(deferred__holds(r->deferred, 3));
	assert_int_equal(deferred__due_ns(r->deferred), 1 + WAIT_NS);
	assert_string_equal(retry(r, 10), "");
	r->ready = 2;
	assert_string_equal(retry(r, 10), "1.1 1.2 ");
	r->ready = 9;
	assert_string_equal(retry(r, 10), "1.3 1.4 ");
	assert_false(deferred__holds(r->deferred, 1));
	assert_true(deferred__holds(r->deferred, 2));
}

static void no_event_waits_forever(void **state)
{
	struct rig *r = *state;
	struct deferred_stats s;

	add(r, 2, 1, 100);
	add(r, 2, 2, 200);
	assert_string_equal(retry(r, 99 + WAIT_NS), "");
	assert_string_equal(retry(r, 100 + WAIT_NS), "2.1! ");
	assert_int_equal(deferred__due_ns(r->deferred), 200 + WAIT_NS);
	assert_string_equal(retry(r, UINT64_MAX), "2.2! ");
	deferred__stats(r->deferred, &s);
	assert_int_equal(s.cnt + s.sz, 0);
	assert_int_equal(s.waited, 2);
	assert_int_equal(s.forced, 2);
}

/* The oldest event is removed for a new one: of the process, then of all. */
static void room_is_bounded(void **state)
{
	struct rig *r = *state;

	for (uint64_t i = 1; i <= EACH; i++)
		add(r, 2, i, i);
	assert_string_equal(r->out, "");
	add(r, 2, 11, 11);
	assert_string_equal(r->out, "2.1! ");
	for (uint64_t i = 1; i <= ALL - EACH; i++)
		add(r, 1, i, 11 + i);
	assert_string_equal(r->out, "2.1! ");
	add(r, 1, 6, 20);
	assert_string_equal(r->out, "2.1! 2.2! ");
}

static void add_joined(struct rig *r, uint32_t tgid, uint64_t id, uint32_t flag)
{
	r->event->flags = flag;
	r->event->join = 77;
	add(r, tgid, id, id);
	r->event->flags = 0;
}

/* Returns the process that has it in its queue; -1: none. */
static int joined(const struct rig *r, uint64_t join)
{
	uint32_t tgid;

	return deferred__joined(r->deferred, join, &tgid) ? (int)tgid : -1;
}

static void an_end_finds_its_beginning(void **state)
{
	struct rig *r = *state;

	add_joined(r, 1, 1, EVENT_F_OPEN);
	add(r, 1, 2, 2);
	assert_int_equal(joined(r, 77), 1);
	assert_int_equal(joined(r, 78), -1);
	r->ready = 1;
	retry(r, 10);
	assert_int_equal(joined(r, 77), -1);
	assert_true(deferred__holds(r->deferred, 1));
}

/* A request is a place in memory that is reused. */
static void an_end_finds_the_last_beginning_of_its_name(void **state)
{
	struct rig *r = *state;

	add_joined(r, 1, 1, EVENT_F_OPEN);
	add_joined(r, 1, 2, EVENT_F_OPEN);
	r->ready = 1;
	assert_string_equal(retry(r, 10), "1.1 ");
	assert_int_equal(joined(r, 77), 1);
	add_joined(r, 0, 3, EVENT_F_OPEN); /* of no process */
	assert_int_equal(joined(r, 77), 0);
	r->ready = 2;
	assert_string_equal(retry(r, 10), "1.2 ");
	assert_int_equal(joined(r, 77), 0);
	assert_string_equal(retry(r, UINT64_MAX), "0.3! ");
	assert_int_equal(joined(r, 77), -1);
}

/* Even if its start has already been released. */
static void a_beginning_finds_the_end_before_it(void **state)
{
	struct rig *r = *state;

	add_joined(r, 1, 1, EVENT_F_OPEN);
	add_joined(r, 1, 2, EVENT_F_CLOSE);
	r->ready = 1;
	assert_string_equal(retry(r, 10), "1.1 ");
	assert_int_equal(joined(r, 77), 1);
	r->ready = 2;
	assert_string_equal(retry(r, 10), "1.2 ");
	assert_int_equal(joined(r, 77), -1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(events_come_back_in_order), T(no_event_waits_forever), T(room_is_bounded),
	  T(an_end_finds_its_beginning), T(an_end_finds_the_last_beginning_of_its_name),
	  T(a_beginning_finds_the_end_before_it))
