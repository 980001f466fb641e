// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists for gdb, of this process. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/gdb_image.h"
#include "jit/gdbjit.h"

#define CODE	0x7e0000000000u
#define CODE_SZ 64
#define NOWHERE 16 /* no address of a process */

extern struct gdb_descriptor __jit_debug_descriptor; /* the name is gdb's */
struct gdb_descriptor __jit_debug_descriptor;

struct fixture {
	struct gdb_jit *jit;
	struct jit_owner owner;
	struct buf images[3];
	struct gdb_listed listed[3];
};

static int setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(jit_owner__open(&t->owner, proc, (uint32_t)getpid()), 0);
	close(proc);
	t->jit = gdb_jit__new(NULL, NULL);
	for (size_t i = 0; i < 3; i++) {
		gdb_image__make(&t->images[i], CODE + i * 4096, CODE_SZ, 32);
		t->listed[i] = (struct gdb_listed){ i < 2 ? &t->listed[i + 1] : NULL, NULL,
						    t->images[i].data, t->images[i].sz };
	}
	__jit_debug_descriptor = (struct gdb_descriptor){ 1, 1, t->listed, t->listed };
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	for (size_t i = 0; i < 3; i++)
		buf__free(&t->images[i]);
	gdb_jit__free(t->jit);
	jit_owner__close(&t->owner);
	free(t);
	return 0;
}

/* Returns the number of images after a change of the list. */
static size_t read_again(struct fixture *t)
{
	__jit_debug_descriptor.action++;
	gdb_jit__read(t->jit, &t->owner);
	return gdb_jit__cnt(t->jit);
}

static void listed_images_are_found(void **state)
{
	struct fixture *t = *state;
	struct code c;

	assert_false(gdb_jit__find(t->jit, CODE, &c));
	assert_int_equal(read_again(t), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_false(gdb_jit__find(t->jit, CODE + i * 4096 - 1, &c));
		assert_false(gdb_jit__find(t->jit, CODE + i * 4096 + CODE_SZ, &c));
		assert_true(gdb_jit__find(t->jit, CODE + i * 4096 + CODE_SZ - 1, &c));
		assert_int_equal(c.start, CODE + i * 4096);
		assert_int_equal(c.sz, CODE_SZ);
		assert_int_equal(c.frames_at, 0); /* .debug_frame */
		assert_int_equal(c.frames_sz, 52);
	}
}

static void it_is_read_again_when_it_has_changed(void **state)
{
	struct fixture *t = *state;
	uint32_t generation;
	struct code c;

	read_again(t);
	generation = gdb_jit__generation(t->jit);
	t->listed[0].next = NULL; /* without announcing it */
	gdb_jit__read(t->jit, &t->owner);
	assert_int_equal(gdb_jit__cnt(t->jit), 3);
	assert_int_equal(gdb_jit__generation(t->jit), generation);
	assert_int_equal(read_again(t), 1);
	assert_true(gdb_jit__generation(t->jit) > generation);
	assert_false(gdb_jit__find(t->jit, CODE + 4096, &c));
	__jit_debug_descriptor.version = 2;
	assert_int_equal(read_again(t), 0);
	assert_int_equal(gdb_jit__sz(t->jit), 0);
}

/* The unwinder must find the last callers of a process that has ended. */
static void a_removed_image_is_remembered(void **state)
{
	struct fixture *t = *state;

	read_again(t);
	jit_owner__close(&t->owner);
	assert_int_equal(read_again(t), 3);
}

static void wrong_lists_are_bounded(void **state)
{
	struct fixture *t = *state;

	t->listed[1].next = t->listed; /* a circular list */
	assert_true(read_again(t) <= 4096);
	t->listed[1].next = (void *)NOWHERE;
	assert_int_equal(read_again(t), 2);
	t->listed[1].image = (void *)NOWHERE;
	assert_int_equal(read_again(t), 1);
	t->listed[1].sz = UINT64_MAX;
	t->listed[0].sz = 0;
	assert_int_equal(read_again(t), 0);
	__jit_debug_descriptor.first = (void *)UINT64_MAX;
	assert_int_equal(read_again(t), 0);
}

/* Any byte of an image may be wrong, and it may end anywhere. */
static void wrong_images_are_refused(void **state)
{
	struct fixture *t = *state;
	uint8_t *bytes = t->images[0].data;
	size_t sz = t->images[0].sz;

	t->listed[0].next = NULL;
	for (size_t i = 0; i < sz; i++) {
		bytes[i] ^= 0xff;
		assert_true(read_again(t) <= 1);
		bytes[i] ^= 0xff;
	}
	for (size_t end = 0; end < sz; end++) {
		uint8_t *copy = malloc(end);

		memcpy(copy, bytes, end);
		t->listed[0].image = copy;
		t->listed[0].sz = end;
		assert_int_equal(read_again(t), 0); /* the names are last */
		free(copy);
	}
}

/* If two have the same code, it belongs to the one that was listed last. */
static void the_last_overlapping_image_wins(void **state)
{
	struct fixture *t = *state;
	struct code c;

	buf__free(&t->images[1]);
	gdb_image__make(&t->images[1], CODE - CODE_SZ / 2, CODE_SZ, 32);
	t->listed[1].image = t->images[1].data;
	assert_int_equal(read_again(t), 2);
	assert_true(gdb_jit__find(t->jit, CODE, &c));
	assert_int_equal(c.start, CODE);
	assert_false(gdb_jit__find(t->jit, CODE - 1, &c));
	assert_true(gdb_jit__find(t->jit, CODE + 2 * 4096, &c));
}

/* Images of some hundred bytes that all refer to the same four megabytes for their frames. */
static void reads_are_bounded(void **state)
{
	enum { CNT = 64, SZ = 4 << 20 };
	struct fixture *t = *state;
	struct gdb_listed listed[CNT] = { 0 };
	struct buf images[CNT] = { 0 };
	void *frames = calloc(1, SZ);

	for (size_t i = 0; i < CNT; i++) {
		gdb_image__make(&images[i], CODE + i * 4096, CODE_SZ, 32);
		gdb_image__load(&images[i], frames, SZ);
		listed[i] = (struct gdb_listed){ i + 1 < CNT ? &listed[i + 1] : NULL, NULL,
						 images[i].data, images[i].sz };
	}
	__jit_debug_descriptor.first = listed;
	assert_int_equal(read_again(t), 7);
	assert_true(gdb_jit__sz(t->jit) < 32 << 20);
	gdb_image__load(&images[0], frames, SZ + 1); /* too large */
	assert_int_equal(read_again(t), 7);
	listed[0].next = listed; /* useless bytes count, too */
	assert_int_equal(read_again(t), 0);
	for (size_t i = 0; i < CNT; i++)
		buf__free(&images[i]);
	free(frames);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(listed_images_are_found),	       test(it_is_read_again_when_it_has_changed),
		test(a_removed_image_is_remembered),   test(wrong_lists_are_bounded),
		test(the_last_overlapping_image_wins), test(reads_are_bounded),
		test(wrong_images_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
