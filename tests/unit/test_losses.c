// SPDX-License-Identifier: GPL-2.0-or-later
/* Lost events are reported once each, also those that only the ring counts. */
#include "lib/test.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_private.h"

#define RING_SZ 4096
#define CPUS	2

/* A capture with rings in ordinary memory, and no programs. */
struct scene {
	struct capture capture;
	struct collector_bpf skel;
	struct collector_bpf__bss bss;
	struct {
		uint64_t consumer, producer;
		_Alignas(8) uint8_t data[2 * RING_SZ];
	} areas[CPUS];
	struct ring *rings[CPUS];
	uint64_t bad[CPUS];
};

struct seen {
	size_t cnt;
	struct capture_loss last;
};

static void see(const struct capture_loss *l, void *arg)
{
	struct seen *s = arg;

	s->cnt++;
	s->last = *l;
}

static struct seen reported(struct scene *s)
{
	struct seen seen = { 0 };

	capture__report_losses(&s->capture, see, &seen);
	return seen;
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	for (size_t i = 0; i < CPUS; i++) {
		const struct ring_area area = { &s->areas[i].consumer, &s->areas[i].producer,
						s->areas[i].data, RING_SZ };

		s->rings[i] = ring__new();
		assert_non_null(s->rings[i]);
		ring__set_area(s->rings[i], &area);
	}
	s->skel.bss = &s->bss;
	s->capture.skel = &s->skel;
	s->capture.cpu_cnt = CPUS;
	s->capture.rings = s->rings;
	s->capture.bad = s->bad;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < CPUS; i++)
		ring__free(s->rings[i]);
	free(s);
	return 0;
}

/* A record that is too short for an event, and its handling. */
static void put_malformed(struct scene *s, size_t cpu)
{
	struct stream *stream = ring__stream(s->rings[cpu]);
	uint32_t sz = 16;

	memcpy(s->areas[cpu].data + s->areas[cpu].producer, &sz, sizeof(sz));
	s->areas[cpu].producer += sz + BPF_RINGBUF_HDR_SZ;
	stream->begin(stream);
	assert_int_equal(stream->peek(stream), STREAM_EMPTY);
	stream->end(stream);
}

static void malformed_records_are_lost_rows(void **state)
{
	struct scene *s = *state;
	struct seen seen;

	assert_int_equal(reported(s).cnt, 0);
	put_malformed(s, 1);
	put_malformed(s, 1);
	seen = reported(s);
	assert_int_equal(seen.cnt, 1);
	assert_string_equal(seen.last.probe, "ring");
	assert_string_equal(seen.last.reason, "malformed");
	assert_int_equal(seen.last.cpu, 1);
	assert_int_equal(seen.last.cnt, 2);
	assert_int_equal(reported(s).cnt, 0);
	put_malformed(s, 0);
	seen = reported(s);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.last.cpu, 0);
	assert_int_equal(seen.last.cnt, 1);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(malformed_records_are_lost_rows, setup, teardown))
