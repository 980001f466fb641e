// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "capture/perfring.h"
#include "lib/perfmaker.h"

#define RING_SZ 1024

struct fake {
	struct perf_event_mmap_page ctl;
	uint8_t data[RING_SZ];
	struct perfring ring;
	char seen[256];
};

static struct fake *fake__new(uint64_t at)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->ctl.data_head = f->ctl.data_tail = at;
	perfring__init(&f->ring, &f->ctl, f->data, RING_SZ);
	return f;
}

static void put(struct fake *f, const struct buf *b)
{
	for (size_t i = 0; i < b->sz; i++)
		f->data[(f->ctl.data_head + i) % RING_SZ] = b->data[i];
	f->ctl.data_head += b->sz;
}

static void put_comm(struct fake *f, uint64_t time_ns, const char *name)
{
	struct buf b = { 0 };

	perfmaker__comm(&b, time_ns, name);
	put(f, &b);
	buf__free(&b);
}

static void see(const struct record *r, void *arg)
{
	struct fake *f = arg;
	size_t at = strlen(f->seen);

	snprintf(f->seen + at, sizeof(f->seen) - at, "%lu %s|", r->time_ns,
		 r->type == RECORD_COMM	  ? r->comm.name
		 : r->type == RECORD_LOST ? "lost"
					  : "?");
}

/* Returns all records up to a time, like merge__drain(). */
static const char *drain(struct fake *f, uint64_t until_ns)
{
	struct stream *s = &f->ring.stream;

	f->seen[0] = '\0';
	s->begin(s);
	while (s->peek(s) < until_ns)
		s->next(s, see, f);
	s->end(s);
	return f->seen;
}

static void hands_out_in_order(void **state)
{
	struct fake *f = fake__new(0);

	(void)state;
	assert_string_equal(drain(f, 100), "");
	put_comm(f, 1, "a");
	put_comm(f, 2, "b");
	put_comm(f, 100, "c");
	assert_string_equal(drain(f, 100), "1 a|2 b|");
	assert_int_equal(f->ctl.data_tail, 2 * f->ctl.data_head / 3);
	assert_string_equal(drain(f, 100), "");
	assert_string_equal(drain(f, 101), "100 c|");
	assert_int_equal(f->ctl.data_tail, f->ctl.data_head);
	free(f);
}

/* A record that arrives after begin() waits, because its order is not certain yet. */
static void begin_is_a_line(void **state)
{
	struct fake *f = fake__new(0);
	struct stream *s = &f->ring.stream;

	(void)state;
	s->begin(s);
	put_comm(f, 1, "a");
	assert_true(s->peek(s) == STREAM_EMPTY);
	s->next(s, see, f); /* nothing to hand out */
	assert_string_equal(f->seen, "");
	s->end(s);
	assert_string_equal(drain(f, 10), "1 a|");
	free(f);
}

/* Records across the edge of the ring, at every offset, kept during a round or not. */
static void wraps_everywhere(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < 2 * RING_SZ; at += 8) {
		struct fake *f = fake__new(UINT64_MAX - 7 - at);

		put_comm(f, 1, "first-name");
		put_comm(f, 2, "second");
		put_comm(f, 3, "the-third-name");
		assert_string_equal(drain(f, 2), "1 first-name|");
		assert_string_equal(drain(f, 9), "2 second|3 the-third-name|");
		free(f);
	}
}

static void passes_over_what_is_not_wanted(void **state)
{
	struct fake *f = fake__new(1000);
	struct buf b = { 0 };

	(void)state;
	perfmaker__begin(&b, PERF_RECORD_THROTTLE, 0);
	perfmaker__end(&b, 1);
	put(f, &b);
	put_comm(f, 2, "x");
	put(f, &b);
	perfmaker__lost(&b, 3, 7);
	put(f, &b);
	put_comm(f, STREAM_EMPTY, "no time"); /* would always look like the end */
	assert_string_equal(drain(f, 100), "2 x|3 lost|");
	assert_int_equal(f->ctl.data_tail, f->ctl.data_head);
	buf__free(&b);
	free(f);
}

/* An impossible size ends the round; the next round continues. */
static void recovers_from_nonsense(void **state)
{
	static const uint16_t sizes[] = { 0, 7, 9, RING_SZ, UINT16_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct fake *f = fake__new(0);
		uint16_t sz = sizes[i];

		put_comm(f, 1, "a");
		put_comm(f, 2, "b");
		memcpy(f->data + f->ctl.data_head / 2 + 6, &sz, sizeof(sz));
		assert_string_equal(drain(f, 100), "1 a|");
		assert_int_equal(f->ctl.data_tail, f->ctl.data_head);
		put_comm(f, 3, "c");
		assert_string_equal(drain(f, 100), "3 c|");
		free(f);
	}
}

RUN_TESTS(cmocka_unit_test(hands_out_in_order), cmocka_unit_test(begin_is_a_line),
	  cmocka_unit_test(wraps_everywhere), cmocka_unit_test(passes_over_what_is_not_wanted),
	  cmocka_unit_test(recovers_from_nonsense))
