// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "capture/merge.h"

#define STREAMS_MAX 37

/* A stream over an array of times. */
struct fake {
	struct stream stream;
	uint64_t *times;
	size_t cnt, pos, limit;
	unsigned begins, ends;
};

static void fake__begin(struct stream *s)
{
	struct fake *f = (struct fake *)(void *)s;

	f->begins++;
	f->limit = f->cnt;
}

static uint64_t fake__peek(struct stream *s)
{
	struct fake *f = (struct fake *)(void *)s;

	return f->pos < f->limit ? f->times[f->pos] : STREAM_EMPTY;
}

static void fake__next(struct stream *s, record_fn fn, void *arg)
{
	struct fake *f = (struct fake *)(void *)s;
	uint64_t time_ns = f->times[f->pos++];
	struct record r = { .type = time_ns % 7 ? RECORD_SAMPLE : RECORD_EXIT, .time_ns = time_ns };

	if (r.time_ns % 10 != 7) /* a call may return nothing */
		fn(&r, arg);
}

static void fake__end(struct stream *s)
{
	((struct fake *)(void *)s)->ends++;
}

static struct fake fake__on(uint64_t *times, size_t cnt)
{
	return (struct fake){ .stream = { fake__begin, fake__peek, fake__next, fake__end, 0 },
			      .times = times,
			      .cnt = cnt };
}

struct seen {
	uint64_t times[4096];
	size_t cnt;
};

static void see(const struct record *r, size_t cnt, void *arg)
{
	struct seen *seen = arg;

	assert_in_range(cnt, 1, r->type == RECORD_SAMPLE ? RECORD_BATCH : 1);
	for (; cnt; cnt--, r++) {
		assert_in_range(seen->cnt, 0, 4095);
		seen->times[seen->cnt++] = r->time_ns;
	}
}

static void earliest_first(void **state)
{
	uint64_t a[] = { 1, 4, 5, 17, 20 }, b[] = { 2, 3, 19 }, c[] = { 18 };
	static const uint64_t expected[] = { 1, 2, 3, 4, 5, 18, 19, 20 };
	struct fake fakes[] = { fake__on(a, 5), fake__on(b, 3), fake__on(c, 1), fake__on(NULL, 0) };
	struct stream *streams[4];
	struct seen seen = { .cnt = 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		streams[i] = &fakes[i].stream;
	merge__drain(&(struct streams){ streams, 4 }, 100, see, &seen);
	assert_int_equal(seen.cnt, 8);
	assert_memory_equal(seen.times, expected, sizeof(expected));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(fakes[i].begins, 1);
		assert_true(fakes[i].ends >= 1);
	}
}

static void later_ones_wait(void **state)
{
	uint64_t a[] = { 1, 10, 30 }, b[] = { 20, 21 };
	struct fake fakes[] = { fake__on(a, 3), fake__on(b, 2) };
	struct stream *streams[] = { &fakes[0].stream, &fakes[1].stream };
	struct seen seen = { .cnt = 0 };

	(void)state;
	merge__drain(&(struct streams){ streams, 2 }, 20, see, &seen);
	assert_int_equal(seen.cnt, 3);
	assert_int_equal(seen.times[2], 20); /* `until` is included */
	merge__drain(&(struct streams){ streams, 2 }, UINT64_MAX, see, &seen);
	assert_int_equal(seen.cnt, 5);
	assert_int_equal(seen.times[4], 30);
}

/* An interrupt's record may come before an older one of the interrupted code: both are returned. */
static void disorder_inside_a_stream_is_kept(void **state)
{
	uint64_t a[] = { 5, 4, 6 }, b[] = { 1, 2, 3 };
	struct fake fakes[] = { fake__on(a, 3), fake__on(b, 3) };
	struct stream *streams[] = { &fakes[0].stream, &fakes[1].stream };
	struct seen seen = { .cnt = 0 };

	(void)state;
	merge__drain(&(struct streams){ streams, 2 }, 100, see, &seen);
	assert_int_equal(seen.cnt, 6);
}

static void no_streams_give_no_records(void **state)
{
	struct seen seen = { .cnt = 0 };

	(void)state;
	merge__drain(&(struct streams){ NULL, 0 }, 100, see, &seen);
	assert_int_equal(seen.cnt, 0);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void random_streams_are_sorted(void **state)
{
	uint64_t times[STREAMS_MAX][100], all[STREAMS_MAX * 100];
	struct stream *streams[STREAMS_MAX];
	struct fake fakes[STREAMS_MAX];
	struct seen seen = { .cnt = 0 };
	size_t cnt = 0;

	(void)state;
	srand(1);
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		for (size_t k = 0; k < 100; k++)
			all[cnt++] = times[i][k] = (uint64_t)(rand() % 100000) * 10;
		qsort(times[i], 100, sizeof(uint64_t), compare);
		fakes[i] = fake__on(times[i], 100);
		streams[i] = &fakes[i].stream;
	}
	qsort(all, cnt, sizeof(*all), compare);
	for (uint64_t until = 0; until <= 1000000; until += 50000)
		merge__drain(&(struct streams){ streams, STREAMS_MAX }, until, see, &seen);
	assert_int_equal(seen.cnt, cnt);
	assert_memory_equal(seen.times, all, cnt * sizeof(*all));
}

RUN_TESTS(cmocka_unit_test(earliest_first), cmocka_unit_test(later_ones_wait),
	  cmocka_unit_test(disorder_inside_a_stream_is_kept),
	  cmocka_unit_test(no_streams_give_no_records), cmocka_unit_test(random_streams_are_sorted))
