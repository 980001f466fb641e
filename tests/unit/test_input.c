// SPDX-License-Identifier: GPL-2.0-or-later
/* Files and pipes, read in place. */
#include "lib/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/input.h"

#define MB	 (1u << 20)
#define STEP	 1000 /* no divisor of any buffer's size */
#define INPUT_SZ (9 * MB)

static uint8_t byte_at(uint64_t off)
{
	return (uint8_t)(off * 2654435761u >> 13);
}

static uint8_t *pattern(size_t sz)
{
	uint8_t *p = malloc(sz);

	for (size_t i = 0; i < sz; i++)
		p[i] = byte_at(i);
	return p;
}

static int file_of(size_t sz)
{
	uint8_t *p = pattern(sz);
	int fd = memfd_create("input", MFD_CLOEXEC);

	assert_int_equal(pwrite(fd, p, sz, 0), sz);
	free(p);
	return fd;
}

struct feeder {
	pthread_t thread;
	int ends[2];
};

static void *feed(void *arg)
{
	struct feeder *f = arg;
	uint8_t *p = pattern(INPUT_SZ);

	for (size_t at = 0; at < INPUT_SZ;) {
		ssize_t put = write(f->ends[1], p + at, INPUT_SZ - at);

		assert_true(put > 0);
		at += (size_t)put;
	}
	close(f->ends[1]);
	free(p);
	return NULL;
}

/* Returns the end of a pipe with the contents of file_of(INPUT_SZ). */
static int pipe_of(struct feeder *f)
{
	assert_int_equal(pipe(f->ends), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, feed, f), 0);
	return f->ends[0];
}

static bool is_right(const uint8_t *p, uint64_t off, size_t sz)
{
	for (size_t i = 0; i < sz; i++)
		if (p[i] != byte_at(off + i))
			return false;
	return true;
}

/* Held data stays unchanged and in place while three more buffers are read. */
static void read_and_hold(int fd)
{
	const size_t behind = 3 * MB / STEP; /* this many pieces */
	const uint8_t **seen = calloc(INPUT_SZ / STEP + 1, sizeof(*seen));
	struct input *in = input__new(fd);
	size_t cnt = 0;

	for (const uint8_t *p; (p = input__peek(in, STEP)); cnt++) {
		seen[cnt] = p;
		assert_int_equal(input__off(in), cnt * STEP);
		input__hold(in, cnt < behind ? 0 : (cnt - behind) * STEP);
		if (cnt >= behind)
			assert_true(is_right(seen[cnt - behind], (cnt - behind) * STEP, STEP));
		input__step(in, STEP);
	}
	assert_int_equal(cnt, INPUT_SZ / STEP);
	for (size_t i = cnt - behind; i < cnt; i++)
		assert_true(is_right(seen[i], i * STEP, STEP));
	assert_int_equal(input__left(in), INPUT_SZ % STEP);
	assert_int_equal(input__err(in), 0);
	input__free(in);
	free(seen);
}

static void held_bytes_stay(void **state)
{
	struct feeder f;
	int fd = file_of(INPUT_SZ);

	(void)state;
	read_and_hold(fd);
	close(fd);
	fd = pipe_of(&f);
	read_and_hold(fd);
	pthread_join(f.thread, NULL);
	close(fd);
}

static void skip_and_read(int fd)
{
	struct input *in = input__new(fd);
	const uint8_t *held = input__peek(in, STEP), *p;

	assert_non_null(held);
	input__hold(in, 0);
	input__step(in, STEP);
	assert_true(input__skip(in, 5 * MB + 1));
	p = input__peek(in, 2 * MB); /* more than a buffer */
	assert_non_null(p);
	assert_true(is_right(p, 5 * MB + 1 + STEP, 2 * MB));
	assert_true(is_right(held, 0, STEP));
	assert_null(input__peek(in, INPUT_RUN_MAX)); /* there is less */
	assert_false(input__skip(in, UINT64_MAX));
	assert_int_equal(input__off(in), INPUT_SZ);
	input__free(in);
}

static void skips_unwanted_bytes(void **state)
{
	struct feeder f;
	int fd = file_of(INPUT_SZ);

	(void)state;
	skip_and_read(fd);
	close(fd);
	fd = pipe_of(&f);
	skip_and_read(fd);
	pthread_join(f.thread, NULL);
	close(fd);
}

/* Its bytes are then zeros, and the damage is detected; the input ends where the file does. */
static void a_truncated_file_does_no_harm(void **state)
{
	const size_t cut = 2 * MB + 5000;
	int fd = file_of(INPUT_SZ);
	struct input *in = input__new(fd);
	const uint8_t *p = input__peek(in, 4 * MB);

	(void)state;
	assert_non_null(p);
	input__hold(in, 0);
	assert_int_equal(ftruncate(fd, (off_t)cut), 0);
	assert_int_equal(p[3 * MB], 0);
	assert_true(input__has(in, p + cut, 1)); /* not checked yet */
	input__check(in);
	assert_true(input__has(in, p, cut));
	assert_false(input__has(in, p + cut - 1, 2));
	assert_true(is_right(p, 0, cut));
	assert_null(input__peek(in, cut + 1));
	assert_int_equal(input__left(in), cut);
	assert_false(input__skip(in, cut + 1));
	/* if the file grows again, its data is other data */
	assert_int_equal(ftruncate(fd, INPUT_SZ), 0);
	input__check(in);
	assert_false(input__has(in, p + 3 * MB, 1));
	input__free(in);
	close(fd);
}

RUN_TESTS(cmocka_unit_test(held_bytes_stay), cmocka_unit_test(skips_unwanted_bytes),
	  cmocka_unit_test(a_truncated_file_does_no_harm))
