// SPDX-License-Identifier: GPL-2.0-or-later
/* src/runtime/cpython_code.c: CPython without a GIL. Its objects begin with more words, and threads
 * have copies of the code. */
#include "lib/test.h"

#include <malloc.h>

#include "lib/fakepython.h"

static struct remote remote_of(int fd)
{
	return (struct remote){ .mem = fd, .left = 4 << 20 };
}

static void a_function_has_lines_in_all_copies_of_its_code(void **state)
{
	static const uint64_t copies[] = { FAKE_CODE + 232, 0x380000, 0, 0x300000 };
	struct runtime_layout l = fake__free_threaded();
	struct script_function f = { 0 };
	int fd = fake__new();
	struct remote r = remote_of(fd);
	uint32_t line;

	(void)state;
	fake__code(fd, &l);
	fake__copies(fd, &l, copies, 4);
	assert_int_equal(cpython.read(&r, &l, FAKE_CODE, &f), 0);
	assert_string_equal(f.script.name, "App.run");
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(script_function__line(&f, copies[i], &line), i != 2);
		assert_int_equal(line, i == 2 ? 0 : 11);
		assert_false(script_function__line(&f, copies[i] + 16, &line));
	}
	assert_true(f.is_copied);
	script_function__free(&f);
	close(fd);
}

static void bounds_a_number_of_copies(void **state)
{
	struct runtime_layout l = fake__free_threaded();
	struct script_function f = { 0 };
	int fd = fake__new();
	struct remote r = remote_of(fd);

	(void)state;
	fake__code(fd, &l);
	fake__copies(fd, &l, NULL, 0);
	fake__word(fd, FAKE_COPIES, UINT64_MAX / 8 + 1);
	assert_int_equal(cpython.read(&r, &l, FAKE_CODE, &f), 0);
	assert_int_equal(f.copy_cnt, 0);
	script_function__free(&f);
	close(fd);
}

#define COPIES 16000 /* 128,000 bytes of addresses */

/* Reads a function with so many addresses of copies, of which only the last may not be 0. */
static void read_with_zeros(uint64_t last, struct script_function *f)
{
	static uint64_t copies[COPIES];
	struct runtime_layout l = fake__free_threaded();
	int fd = fake__new();
	struct remote r = remote_of(fd);

	copies[COPIES - 1] = last;
	fake__code(fd, &l);
	fake__copies(fd, &l, copies, COPIES);
	assert_int_equal(cpython.read(&r, &l, FAKE_CODE, f), 0);
	close(fd);
}

static void zeros_instead_of_copies_take_no_memory(void **state)
{
	struct script_function f = { 0 };

	(void)state;
	read_with_zeros(0, &f);
	assert_int_equal(f.copy_cnt, 0);
	assert_null(f.copies);
	script_function__free(&f);
}

static void zeros_among_copies_take_no_memory(void **state)
{
	struct script_function f = { 0 };

	(void)state;
	read_with_zeros(0x300000, &f);
	assert_int_equal(f.copy_cnt, 1);
	assert_int_equal(f.copies[0], 0x300000);
	assert_in_range(malloc_usable_size(f.copies), sizeof(*f.copies), 64);
	script_function__free(&f);
}

/* As 3.14.8 says it when it is built with --disable-gil. */
static void takes_the_offsets_of_a_free_threaded_build(void **state)
{
	static const uint64_t words[][2] = {
		{ 2, 1 },    { 5, 1600 }, { 8, 0 },   { 9, 8 },	   { 24, 8 },	{ 26, 72 },
		{ 27, 152 }, { 32, 8 },	  { 33, 0 },  { 34, 56 },  { 36, 78 },	{ 40, 128 },
		{ 42, 144 }, { 43, 152 }, { 44, 84 }, { 48, 232 }, { 49, 224 }, { 51, 24 },
		{ 53, 40 },  { 75, 32 },  { 76, 48 }, { 78, 48 },  { 79, 32 },	{ 80, 56 },
	};
	static const uint64_t symbols[] = { FAKE_RUNTIME, 0, 0, 0 };
	static const enum cpython_at same[] = {
		AT_CODE_FILE,  AT_CODE_NAME,   AT_CODE_LINES,  AT_CODE_FIRST_LINE, AT_CODE_COPIES,
		AT_CODE_BYTES, AT_OBJECT_TYPE, AT_OBJECT_SIZE, AT_TYPE_NAME,	   AT_BYTES,
		AT_TEXT_STATE, AT_TEXT_LENGTH, AT_TEXT_ASCII,  AT_TEXT_OTHER,
	};
	const struct runtime_layout expected = fake__free_threaded();
	struct capture_runtime c;
	struct runtime_layout l = { .runtime = &cpython };
	struct remote r;
	int fd = fake__new();

	(void)state;
	fake__described(fd, 0x030e08f0, 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		fake__word(fd, FAKE_RUNTIME + 8 * words[i][0], words[i][1]);
	fake__word(fd, FAKE_RUNTIME + 1600, FAKE_INTERPRETER);
	fake__word(fd, FAKE_INTERPRETER + 8, FAKE_THREADS);
	fake__word(fd, FAKE_THREADS + 152, FAKE_SELF);
	fake__word(fd, FAKE_SELF - 16, FAKE_THREADS);
	r = remote_of(fd);
	assert_int_equal(cpython.locate(&r, symbols, &l, &c), 0);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		assert_int_equal(l.at[same[i]], expected.at[same[i]]);
	assert_memory_equal(l.cookie, expected.cookie, sizeof(l.cookie));
	assert_int_equal(l.cookie_off, expected.cookie_off);
	assert_int_equal(c.word, 9);
	close(fd);
}

RUN_TESTS(cmocka_unit_test(a_function_has_lines_in_all_copies_of_its_code),
	  cmocka_unit_test(bounds_a_number_of_copies),
	  cmocka_unit_test(zeros_instead_of_copies_take_no_memory),
	  cmocka_unit_test(zeros_among_copies_take_no_memory),
	  cmocka_unit_test(takes_the_offsets_of_a_free_threaded_build))
