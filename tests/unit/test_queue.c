// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "stacktrace/queue.h"

struct seen {
	struct queue *queue;
	uint64_t worked[64], emitted[64]; /* contents of the records */
	size_t worked_cnt, settled_cnt, emitted_cnt, chained;
	bool keep; /* a chain for each record */
};

static uint64_t value(const struct raw *raw)
{
	uint64_t v;

	memcpy(&v, raw->data, sizeof(v));
	return v;
}

static void work(void *arg, struct queued *q)
{
	struct seen *s = arg;
	uint64_t v = value(&q->raw);

	s->worked[s->worked_cnt++ % 64] = v;
	if (s->keep)
		*queue__chain(s->queue, q, 1) = v;
}

static void settle(void *arg)
{
	struct seen *s = arg;

	s->settled_cnt = s->worked_cnt;
}

static void emit(void *arg, const struct queued *q)
{
	struct seen *s = arg;

	assert_int_equal(s->settled_cnt, s->worked_cnt);
	s->emitted[s->emitted_cnt++ % 64] = value(&q->raw);
	if (q->chain) {
		assert_int_equal(q->chain_cnt, 1);
		assert_int_equal(q->chain[0], value(&q->raw));
		s->chained++;
	}
}

static void begin(struct seen *s)
{
	struct queue_handlers h = { work, settle, emit, s };

	*s = (struct seen){ 0 };
	s->queue = queue__new(&h);
	assert_non_null(s->queue);
}

/* A record that contains its time. */
static void add(struct seen *s, uint64_t time_ns, size_t sz)
{
	uint8_t *data = calloc(1, sz);
	struct raw raw = { .data = data, .sz = sz, .brief = true };

	memcpy(data, &time_ns, sizeof(time_ns));
	assert_int_equal(queue__add(s->queue, &raw, time_ns), 0);
	free(data);
}

static void works_in_time_emits_in_order(void **state)
{
	static const uint64_t times[] = { 30, 10, 40, 0, 20 }, sorted[] = { 0, 10, 20, 30, 40 };
	struct seen s;

	(void)state;
	begin(&s);
	s.keep = true;
	for (size_t i = 0; i < 5; i++)
		add(&s, times[i], 16);
	assert_int_equal(queue__newest(s.queue), 40);
	assert_int_equal(queue__oldest(s.queue), 10);
	queue__until(s.queue, 20);
	assert_int_equal(s.worked_cnt, 3);
	assert_int_equal(s.emitted_cnt, 0); /* the first waits */
	queue__until(s.queue, 30);
	assert_int_equal(s.emitted_cnt, 2);
	queue__until(s.queue, UINT64_MAX);
	assert_memory_equal(s.worked, sorted, sizeof(sorted));
	assert_memory_equal(s.emitted, times, sizeof(times));
	assert_int_equal(s.chained, 5);
	assert_int_equal(queue__sz(s.queue), 0);
	queue__free(s.queue);
}

static void equal_times_keep_their_order(void **state)
{
	struct seen s;

	(void)state;
	begin(&s);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t v[2] = { i, 0 };
		struct raw raw = { .data = (const uint8_t *)v, .sz = sizeof(v), .brief = true };

		assert_int_equal(queue__add(s.queue, &raw, 7), 0);
	}
	queue__until(s.queue, 7);
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(s.worked[i], i);
	queue__free(s.queue);
}

struct merging {
	uint64_t last_ns, emitted_cnt;
};

static void see_time(void *arg, struct queued *q)
{
	struct merging *m = arg;

	assert_true(value(&q->raw) >= m->last_ns);
	m->last_ns = value(&q->raw);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

static void count(void *arg, const struct queued *q)
{
	struct merging *m = arg;

	(void)q;
	m->emitted_cnt++;
}

/* CPUs write in turns, each the records since its last turn. */
static void runs_of_many_cpus_are_merged(void **state)
{
	enum { ROUNDS = 40, CPUS = 7, EACH = 300, ROUND_NS = 1000 };
	struct merging m = { 0 };
	struct queue_handlers h = { see_time, do_nothing, count, &m };
	struct queue *q = queue__new(&h);

	(void)state;
	for (uint64_t i = 0; i < ROUNDS * CPUS * EACH; i++) {
		uint64_t round = i / (CPUS * EACH), cpu = i / EACH % CPUS;
		uint64_t time_ns = 1 + round * ROUND_NS + i % EACH * ROUND_NS / EACH + cpu;
		struct raw raw = { .data = (const void *)&time_ns, .sz = 8, .brief = true };

		assert_int_equal(queue__add(q, &raw, time_ns), 0);
		if (i % (CPUS * EACH) == 0)
			queue__until(q, round * ROUND_NS);
	}
	queue__until(q, UINT64_MAX);
	assert_int_equal(m.emitted_cnt, ROUNDS * CPUS * EACH);
	assert_int_equal(queue__off(q), UINT64_MAX);
	queue__free(q);
}

/* The memory for waiting records is bounded; dropped ones are freed. */
static void memory_has_a_bound(void **state)
{
	const size_t sz = 60000;
	struct seen s;
	size_t cnt = 3 * (size_t)QUEUE_SZ_MAX / sz;

	(void)state;
	begin(&s);
	for (size_t i = 0; i < cnt; i++) {
		add(&s, 1000 + i, sz);
		assert_true(queue__sz(s.queue) <= QUEUE_SZ_MAX);
	}
	assert_true(s.emitted_cnt > cnt / 2);
	assert_int_equal(s.worked_cnt, s.emitted_cnt);
	queue__free(s.queue);
}

RUN_TESTS(cmocka_unit_test(works_in_time_emits_in_order),
	  cmocka_unit_test(equal_times_keep_their_order),
	  cmocka_unit_test(runs_of_many_cpus_are_merged), cmocka_unit_test(memory_has_a_bound))
