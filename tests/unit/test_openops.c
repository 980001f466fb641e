// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations that begin in one event and end in another. */
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#include "collector/openops.h"

static struct resolved_event opened(uint64_t join, uint64_t time_ns)
{
	return (struct resolved_event){ .event = { .join = join,
						   .time_ns = time_ns,
						   .tgid = 7,
						   .amount = 1,
						   .flags = EVENT_F_OPEN },
					.ustack_id = join * 10 };
}

static struct event closing(uint64_t join, uint64_t time_ns)
{
	return (struct event){
		.join = join, .time_ns = time_ns, .amount = 4096, .flags = EVENT_F_CLOSE
	};
}

static void an_end_takes_its_beginning(void **state)
{
	const struct build_id who = { .sz = 1, .bytes = { 9 } };
	struct resolved_event s = opened(5, 100), given_up, out;
	struct event end = closing(5, 350), other = closing(6, 350);
	struct open_ops *j = open_ops__new();
	struct build_id build_id;

	(void)state;
	assert_null(open_ops__open(j, &s, &who, &given_up));
	assert_false(open_ops__close(j, &other, &out, &build_id));
	end.reason = EIO;
	assert_true(open_ops__close(j, &end, &out, &build_id));
	assert_int_equal(out.event.tgid, 7);
	assert_int_equal(out.event.time_ns, 350);
	assert_int_equal(out.event.duration_ns, 250);
	assert_int_equal(out.event.amount, 4096);
	assert_int_equal(out.event.reason, EIO);
	assert_int_equal(out.ustack_id, 50);
	assert_memory_equal(&build_id, &who, sizeof(who));
	assert_false(open_ops__close(j, &end, &out, &build_id)); /* only once */
	open_ops__free(j);
}

/* Nothing saw the end: the time of the event is that of the next operation with the same join. */
static void an_end_may_have_no_time(void **state)
{
	const struct build_id nobody = { 0 };
	struct resolved_event s = opened(5, 100), given_up, out;
	struct event end = closing(5, 350);
	struct open_ops *j = open_ops__new();
	struct build_id build_id;

	(void)state;
	assert_null(open_ops__open(j, &s, &nobody, &given_up));
	end.flags |= EVENT_F_UNTIMED;
	assert_true(open_ops__close(j, &end, &out, &build_id));
	assert_int_equal(out.event.time_ns, 100);
	assert_int_equal(out.event.duration_ns, 0);
	assert_int_equal(out.event.amount, 4096);
	open_ops__free(j);
}

/* Facts that are known only at the end. */
static void the_end_may_have_a_detail(void **state)
{
	const struct build_id nobody = { 0 };
	const uint64_t detail[2] = { 11, 12 };
	struct resolved_event s = opened(5, 100), given_up, out;
	struct open_ops *j = open_ops__new();
	struct event *end = test_calloc(1, sizeof(*end) + sizeof(detail));
	struct build_id build_id;

	(void)state;
	s.event.detail = EVENT_DETAIL_ADDRESS;
	s.event.detail_sz = sizeof(uint64_t);
	*end = closing(5, 350);
	end->detail = EVENT_DETAIL_SOCKET;
	end->detail_sz = sizeof(detail);
	memcpy(end->data, detail, sizeof(detail));
	assert_false(open_ops__open(j, &s, &nobody, &given_up));
	assert_true(open_ops__close(j, end, &out, &build_id));
	assert_int_equal(out.event.detail, EVENT_DETAIL_SOCKET);
	assert_int_equal(out.event.detail_sz, sizeof(detail));
	assert_memory_equal(out.detail, detail, sizeof(detail));
	test_free(end);
	open_ops__free(j);
}

/* A request that was merged into another. */
static void merged_operations_are_forgotten(void **state)
{
	const struct build_id nobody = { 0 };
	struct resolved_event s = opened(5, 100), given_up, out;
	struct event end = closing(5, 150);
	struct open_ops *j = open_ops__new();
	struct build_id build_id;

	(void)state;
	assert_null(open_ops__open(j, &s, &nobody, &given_up));
	end.flags |= EVENT_F_CANCEL;
	assert_false(open_ops__close(j, &end, &out, &build_id));
	assert_null(open_ops__open(j, &s, &nobody, &given_up));
	open_ops__free(j);
}

/* A request's memory is reused: the end of the first was not reported. */
static void a_second_beginning_replaces_the_first(void **state)
{
	const struct build_id nobody = { 0 };
	struct resolved_event first = opened(5, 100), second = opened(5, 200), given_up, out;
	struct event end = closing(5, 350);
	struct open_ops *j = open_ops__new();
	struct build_id build_id;

	(void)state;
	assert_null(open_ops__open(j, &first, &nobody, &given_up));
	assert_string_equal(open_ops__open(j, &second, &nobody, &given_up), "end_lost");
	assert_int_equal(given_up.event.time_ns, 100);
	assert_true(open_ops__close(j, &end, &out, &build_id));
	assert_int_equal(out.event.duration_ns, 150);
	open_ops__free(j);
}

static void close_it(const struct resolved_event *s, void *j)
{
	struct event end = closing(s->event.join, 900);
	struct resolved_event out;
	struct build_id build_id;

	assert_true(open_ops__close(j, &end, &out, &build_id));
}

/* At the end of the recording. */
static void each_may_be_closed(void **state)
{
	const struct build_id nobody = { 0 };
	struct open_ops *j = open_ops__new();
	struct event end = closing(3, 950);
	struct resolved_event given_up, out;
	struct build_id build_id;

	(void)state;
	for (uint64_t i = 1; i <= 5; i++) {
		struct resolved_event s = opened(i, 100 * i);

		assert_false(open_ops__open(j, &s, &nobody, &given_up));
	}
	open_ops__each(j, close_it, j);
	assert_false(open_ops__close(j, &end, &out, &build_id));
	open_ops__free(j);
}

static void count(const struct resolved_event *s, void *arg)
{
	uint64_t *expected = arg;

	assert_int_equal(s->event.join, *expected);
	++*expected;
}

static void the_oldest_goes_when_it_is_full(void **state)
{
	const struct build_id nobody = { 0 };
	struct open_ops *j = open_ops__new();
	struct resolved_event s, given_up;
	const char *reason;
	uint64_t expected = 4;

	(void)state;
	for (uint64_t i = 1; i <= OPEN_OPS_MAX + 3; i++) {
		s = opened(i, i);
		reason = open_ops__open(j, &s, &nobody, &given_up);
		assert_int_equal(reason != NULL, i > OPEN_OPS_MAX);
		if (reason)
			assert_string_equal(reason, "state_full");
		if (i > OPEN_OPS_MAX)
			assert_int_equal(given_up.event.join, i - OPEN_OPS_MAX);
	}
	open_ops__each(j, count, &expected);
	assert_int_equal(expected, OPEN_OPS_MAX + 4);
	open_ops__free(j);
}

RUN_TESTS(cmocka_unit_test(an_end_takes_its_beginning), cmocka_unit_test(an_end_may_have_no_time),
	  cmocka_unit_test(the_end_may_have_a_detail), cmocka_unit_test(each_may_be_closed),
	  cmocka_unit_test(merged_operations_are_forgotten),
	  cmocka_unit_test(a_second_beginning_replaces_the_first),
	  cmocka_unit_test(the_oldest_goes_when_it_is_full))
