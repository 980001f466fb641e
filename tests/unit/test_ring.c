// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/ring.h"

#define RING_SZ 16384

/* A ring in ordinary memory, mapped twice in a row like the kernel's; the test is the producer. */
struct fixture {
	uint64_t consumer, producer;
	uint8_t *data;
	struct ring *ring;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = memfd_create("ring", 0);
	struct ring_area area;

	assert_non_null(f);
	assert_int_equal(ftruncate(fd, RING_SZ), 0);
	f->data = mmap(NULL, 2 * RING_SZ, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		assert_ptr_equal(mmap(f->data + i * RING_SZ, RING_SZ, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd, 0),
				 f->data + i * RING_SZ);
	close(fd);
	f->ring = ring__new();
	assert_non_null(f->ring);
	area = (struct ring_area){ &f->consumer, &f->producer, f->data, RING_SZ };
	ring__set_area(f->ring, &area);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ring__free(f->ring);
	munmap(f->data, 2 * RING_SZ);
	free(f);
	return 0;
}

/* Appends a record with `header` in its header; returns its event. */
static struct event *append(struct fixture *f, uint32_t header, uint64_t time_ns,
			    uint32_t ustack_sz)
{
	uint8_t *at = f->data + f->producer % RING_SZ;
	uint32_t sz = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	struct event *e = (struct event *)(void *)(at + BPF_RINGBUF_HDR_SZ);

	memcpy(at, &header, sizeof(header));
	if (sz >= sizeof(*e)) {
		memset(e, 0, sizeof(*e));
		e->time_ns = time_ns;
		e->ustack_sz = ustack_sz;
		memset(e->data, (int)time_ns, sz - sizeof(*e));
	}
	f->producer += (sz + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	return e;
}

static struct event *append_event(struct fixture *f, uint64_t time_ns, uint32_t ustack_sz)
{
	return append(f, (uint32_t)sizeof(struct event) + ustack_sz, time_ns, ustack_sz);
}

struct seen {
	uint64_t times[256];
	size_t cnt, bytes;
};

static void see_one(const struct record *r, struct seen *seen)
{
	assert_int_equal(r->type, RECORD_SAMPLE);
	assert_int_equal(r->time_ns, r->event->time_ns);
	for (uint32_t i = 0; i < r->event->ustack_sz; i++)
		assert_int_equal(event__ustack(r->event)[i], (uint8_t)r->time_ns);
	assert_in_range(seen->cnt, 0, 255);
	seen->times[seen->cnt++] = r->time_ns;
	seen->bytes += r->event->ustack_sz;
}

static void see(const struct record *r, size_t cnt, void *arg)
{
	while (cnt--)
		see_one(r++, arg);
}

static struct seen drain(struct fixture *f)
{
	struct stream *streams[] = { ring__stream(f->ring) };
	struct seen seen = { .cnt = 0 };

	merge__drain(&(struct streams){ streams, 1 }, UINT64_MAX, see, &seen);
	return seen;
}

static void events_come_out_once(void **state)
{
	struct fixture *f = *state;
	struct seen seen;

	append_event(f, 1, 0);
	append_event(f, 2, 13);
	append_event(f, 3, 100);
	assert_int_equal(ring__used(f->ring), f->producer);
	seen = drain(f);
	assert_int_equal(seen.cnt, 3);
	assert_int_equal(seen.bytes, 113);
	assert_int_equal(f->consumer, f->producer);
	assert_int_equal(ring__used(f->ring), 0);
	assert_int_equal(drain(f).cnt, 0);
}

static void records_wrap_around(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 1; i < 200; i++) {
		struct seen seen;

		append_event(f, i % 250, (uint32_t)(i * 37 % 1500));
		append_event(f, i % 250, 9);
		seen = drain(f);
		assert_int_equal(seen.cnt, 2);
		assert_int_equal(f->consumer, f->producer);
	}
	assert_true(f->producer > 10 * RING_SZ);
	assert_int_equal(ring__bad(f->ring), 0);
}

/* The producer has not finished the second: it and the following ones wait. */
static void busy_records_wait(void **state)
{
	struct fixture *f = *state;
	uint32_t header = sizeof(struct event), busy = header | BPF_RINGBUF_BUSY_BIT;
	struct event *second;

	append_event(f, 1, 0);
	second = append(f, busy, 2, 0);
	append_event(f, 3, 0);
	assert_int_equal(drain(f).cnt, 1);
	assert_int_equal(drain(f).cnt, 0);
	memcpy((uint8_t *)second - BPF_RINGBUF_HDR_SZ, &header, sizeof(header));
	assert_int_equal(drain(f).cnt, 2);
}

static void discarded_records_are_skipped(void **state)
{
	struct fixture *f = *state;
	struct seen seen;

	append(f, sizeof(struct event) | BPF_RINGBUF_DISCARD_BIT, 1, 0);
	append_event(f, 2, 0);
	append(f, 16 | BPF_RINGBUF_DISCARD_BIT, 3, 0);
	seen = drain(f);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.times[0], 2);
	assert_int_equal(ring__bad(f->ring), 0);
	assert_int_equal(f->consumer, f->producer);
}

/* With `sz` bytes of another stack, declared as `said`. */
static void append_switched(struct fixture *f, uint64_t time_ns, uint32_t sz, uint64_t said)
{
	uint32_t all = sizeof(struct event) + 64 + sizeof(struct event_switched) + sz;
	struct event *e = append(f, all, time_ns, 64);

	e->flags = EVENT_F_SWITCHED;
	memcpy(e->data + 64 + offsetof(struct event_switched, sz), &said, sizeof(said));
}

static void wrong_sizes_are_skipped(void **state)
{
	struct fixture *f = *state;
	struct seen seen;

	append(f, 8, 1, 0);			     /* shorter than an event */
	append(f, sizeof(struct event) + 64, 2, 65); /* declares more than it has */
	append(f, sizeof(struct event) + 64, 3, 63); /* less */
	append(f, sizeof(struct event) + 64, 4, UINT32_MAX);
	append_event(f, 5, 8)->kstack_sz = UINT32_MAX - 7; /* correct only in 32-bit arithmetic */
	append_event(f, 6, 64);
	append_event(f, 7, 64)->flags = EVENT_F_HOLES; /* which are missing */
	append(f, sizeof(struct event) + 64 + EVENT_HOLES_SZ, 8, 64)->flags = EVENT_F_HOLES;
	append_event(f, 9, 64)->flags = EVENT_F_SWITCHED;
	append_switched(f, 10, 48, 48);
	append_switched(f, 11, 48, 47);
	append_switched(f, 12, 48, UINT64_MAX - 7);
	seen = drain(f);
	assert_int_equal(seen.cnt, 3);
	assert_int_equal(seen.times[0], 6);
	assert_int_equal(seen.times[1], 8);
	assert_int_equal(seen.times[2], 10);
	assert_int_equal(ring__bad(f->ring), 9);
	assert_int_equal(f->consumer, f->producer);
}

/* An event of 64 stack bytes with `cnt` calls, which says that it has `said`. */
static struct event *append_runtime(struct fixture *f, uint64_t time_ns, uint32_t cnt,
				    uint16_t said)
{
	uint32_t all = sizeof(struct event) + 64 + sizeof(struct event_runtime) +
		       cnt * (uint32_t)sizeof(struct event_call);
	struct event *e = append(f, all, time_ns, 64);

	e->flags = EVENT_F_RUNTIME;
	e->call_cnt = said;
	return e;
}

static void calls_of_a_wrong_number_are_skipped(void **state)
{
	struct fixture *f = *state;
	struct seen seen;

	append_runtime(f, 1, 2, 2);
	append_runtime(f, 2, 2, 3);
	append_runtime(f, 3, 2, 1);
	append_runtime(f, 4, 0, UINT16_MAX);
	append_runtime(f, 5, 0, 0);
	append_event(f, 6, 64)->flags = EVENT_F_RUNTIME; /* which is missing */
	append_switched(f, 7, 48, UINT64_MAX - 7);
	((struct event *)(void *)(f->data + f->producer - 48 - sizeof(struct event_switched) - 64 -
				  sizeof(struct event)))
		->flags |= EVENT_F_RUNTIME;
	seen = drain(f);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.times[0], 1);
	assert_int_equal(seen.times[1], 5);
	assert_int_equal(ring__bad(f->ring), 5);
}

static void half_a_kernel_frame_is_refused(void **state)
{
	struct fixture *f = *state;

	append_event(f, 1, 12)->kstack_sz = 12;
	((struct event *)(void *)(f->data + BPF_RINGBUF_HDR_SZ))->ustack_sz = 0;
	assert_int_equal(drain(f).cnt, 0);
	assert_int_equal(ring__bad(f->ring), 1);
}

static void a_record_past_the_producer_is_refused(void **state)
{
	struct fixture *f = *state;

	append_event(f, 1, 256);
	f->producer -= 128;
	assert_int_equal(drain(f).cnt, 0);
	assert_int_equal(ring__bad(f->ring), 1);
	assert_int_equal(f->consumer, f->producer);
}

static void an_impossible_position_is_refused(void **state)
{
	struct fixture *f = *state;

	f->producer = 1ull << 40;
	assert_int_equal(drain(f).cnt, 0);
	assert_int_equal(f->consumer, 0);
}

/* The producer gets room back during a long round. */
/* Records after a full batch are returned once that batch has been released. */
static void see_room(const struct record *r, size_t cnt, void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(cnt, r->time_ns == 1 ? RECORD_BATCH : 1);
	assert_int_equal(f->consumer > 0, r->time_ns > 1);
}

static void room_comes_back(void **state)
{
	struct fixture *f = *state;
	struct stream *streams[] = { ring__stream(f->ring) };

	for (uint64_t i = 1; i <= RECORD_BATCH + 1; i++)
		append_event(f, i, 0);
	merge__drain(&(struct streams){ streams, 1 }, UINT64_MAX, see_room, f);
	assert_int_equal(f->consumer, f->producer);
}

static void an_empty_ring_gives_nothing(void **state)
{
	struct ring *ring = ring__new();
	struct stream *streams[] = { ring__stream(ring) };
	struct seen seen = { .cnt = 0 };

	(void)state;
	merge__drain(&(struct streams){ streams, 1 }, UINT64_MAX, see, &seen);
	assert_int_equal(seen.cnt, 0);
	assert_int_equal(ring__used(ring), 0);
	assert_true(ring__map(ring, -1, RING_SZ) < 0);
	ring__free(ring);
	ring__free(NULL);
}

#define RING_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

RUN_TESTS(RING_TEST(events_come_out_once), RING_TEST(records_wrap_around),
	  RING_TEST(busy_records_wait), RING_TEST(discarded_records_are_skipped),
	  RING_TEST(wrong_sizes_are_skipped), RING_TEST(calls_of_a_wrong_number_are_skipped),
	  RING_TEST(half_a_kernel_frame_is_refused),
	  RING_TEST(a_record_past_the_producer_is_refused),
	  RING_TEST(an_impossible_position_is_refused), RING_TEST(room_comes_back),
	  cmocka_unit_test(an_empty_ring_gives_nothing))
