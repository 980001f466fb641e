// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read of CPython's memory, which may hold anything. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/fakepython.h"
#include "runtime/threadslot.h"

/* _PyRuntime, Py_Version, and functions that 3.10 and 3.9 brought. */
static uint64_t symbols[] = { FAKE_RUNTIME, FAKE_VERSION, 0, 0 };

static struct remote remote_of(int fd)
{
	return (struct remote){ .mem = fd, .left = 4 << 20 };
}

static int read_code(int fd, struct script_function *f)
{
	struct runtime_layout l = fake__layout();
	struct remote r = remote_of(fd);

	*f = (struct script_function){ 0 };
	return cpython.read(&r, &l, FAKE_CODE, f);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static void reads_names_and_lines(void **state)
{
	const struct runtime_layout l = fake__layout();
	struct script_function f;
	int fd = fake__new();
	uint32_t line;

	(void)state;
	fake__code(fd, &l);
	assert_int_equal(read_code(fd, &f), 0);
	assert_string_equal(f.script.name, "App.run");
	assert_string_equal(f.script.module, "/srv/app.py");
	/* 4 units with a signed delta of 1 in the long form, 4 units in the same line */
	assert_true(script_function__line(&f, FAKE_CODE + 184, &line));
	assert_int_equal(line, 11);
	assert_true(script_function__line(&f, FAKE_CODE + 184 + 15, &line));
	assert_false(script_function__line(&f, FAKE_CODE + 184 + 16, &line));
	assert_false(script_function__line(&f, FAKE_CODE + 183, &line));
	script_function__free(&f);
	close(fd);
}

static void cleans_names(void **state)
{
	static const uint16_t wide[] = { 0xfc, 0x1b, 0xd800, 0x30c6 };
	const struct runtime_layout l = fake__layout();
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__code(fd, &l);
	fake__word(fd, FAKE_TEXTS + 0x200 + 16, 4);
	fake__u32(fd, FAKE_TEXTS + 0x200 + 32, FAKE_WIDE);
	fake__put(fd, FAKE_TEXTS + 0x200 + 72, wide, sizeof(wide));
	assert_int_equal(read_code(fd, &f), 0);
	/* A lone surrogate is three bytes that are no character. */
	assert_string_equal(f.script.name, "ü?\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdテ");
	script_function__free(&f);
	close(fd);
}

static void rejects_what_is_no_code_object(void **state)
{
	const struct runtime_layout l = fake__layout();
	struct script_function f;
	int fd = fake__new();

	(void)state;
	fake__code(fd, &l);
	fake__put(fd, FAKE_TEXTS, "dict", 5);
	assert_int_equal(read_code(fd, &f), -EINVAL);
	fake__put(fd, FAKE_TEXTS, "code", 5);
	fake__word(fd, FAKE_CODE + 8, ~0ull);
	assert_int_not_equal(read_code(fd, &f), 0);
	fake__word(fd, FAKE_CODE + 8, FAKE_TYPE);
	fake__word(fd, FAKE_CODE + 112, 0xffffffff00000000);
	assert_int_not_equal(read_code(fd, &f), 0);
	script_function__free(&f);
	close(fd);
}

static void bounds_what_claims_to_be_large(void **state)
{
	const struct runtime_layout l = fake__layout();
	struct script_function f;
	int fd = fake__new();
	uint32_t line;

	(void)state;
	fake__code(fd, &l);
	fake__word(fd, FAKE_CODE + 16, 1ull << 31);	     /* code units */
	fake__word(fd, FAKE_TEXTS + 0x200 + 16, 1ull << 31); /* characters of the name */
	fake__word(fd, FAKE_TEXTS + 0x300 + 16, 2ull << 30); /* bytes of the line table */
	assert_int_equal(read_code(fd, &f), 0);
	assert_int_equal(f.cnt, 0);
	assert_int_equal(strncmp(f.script.name, "App.run", 7), 0);
	assert_false(script_function__line(&f, FAKE_CODE + 184, &line));
	assert_in_range(script_function__memory(&f), 1, 65536);
	script_function__free(&f);
	close(fd);
}

/* ---- where calls are ----------------------------------------------------------------------------
 */

static int locate(int fd, struct runtime_layout *l, struct capture_runtime *c)
{
	struct remote r = remote_of(fd);

	*l = (struct runtime_layout){ .runtime = &cpython };
	return cpython.locate(&r, symbols, l, c);
}

static void finds_the_slot_of_a_thread(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__threads(fd, 3, 792);
	fake__word(fd, FAKE_SELF - 40, FAKE_THREADS); /* the thread-local variable of one */
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(l.version, 0x30b);
	assert_int_equal(c.state_off[0], 792);
	assert_int_equal(c.state_off[1], 792);
	assert_int_equal(c.key_off, 0);
	assert_int_equal(c.id_off, 152);
	assert_int_equal(c.indirect, 8);
	close(fd);
}

static void takes_both_of_two_slots(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__threads(fd, 1, -32);
	fake__word(fd, FAKE_SELF - 40, FAKE_THREADS);
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(c.state_off[0], -32);
	assert_int_equal(c.state_off[1], -40);
	close(fd);
}

/* musl: the first thread's values lie elsewhere, and those of the others above their descriptors.
 */
static void finds_the_state_in_an_array_of_musl(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__threads(fd, 2, 0);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t self = FAKE_SELF + i * 65536, values = self + (i ? 200 : 40000);

		fake__word(fd, self, self);
		fake__word(fd, self + 8, self - 1000); /* before a thread-local variable */
		fake__word(fd, self - 504, FAKE_THREADS + i * 4096);
		fake__word(fd, self + 128, values);
		fake__word(fd, values + 16, FAKE_THREADS + i * 4096);
	}
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(c.state_off[0], 128);
	assert_int_equal(c.state_off[1], 128);
	assert_int_equal(c.key_off, 17);
	close(fd);
}

/* AArch64: a list's head and then the dtv, to which the thread pointer leads. */
static void finds_the_thread_pointer_above_a_descriptor(void **state)
{
	enum { TP = FAKE_SELF + 1856, DTV = FAKE_SELF - 512, LIST = FAKE_SELF - 256 };
	struct remote r;
	int64_t off;
	int fd = fake__new();

	(void)state;
	fake__word(fd, TP + 4096, 0); /* the file is long enough */
	fake__word(fd, FAKE_SELF + 192, LIST);
	fake__word(fd, LIST, FAKE_SELF + 192);
	fake__word(fd, LIST + 16, FAKE_SELF + 300);
	r = remote_of(fd);
	assert_false(thread_slot__self_off(&r, &machine_aarch64, FAKE_SELF, &off));
	fake__word(fd, TP, DTV);
	fake__word(fd, DTV - 16, 16);
	fake__word(fd, DTV, 1);
	fake__word(fd, DTV + 16, TP + 16);
	r = remote_of(fd);
	assert_true(thread_slot__self_off(&r, &machine_aarch64, FAKE_SELF, &off));
	assert_int_equal(off, -1856);
	for (uint64_t self = FAKE_SELF; self <= FAKE_SELF + 8; self += 8) { /* musl: by 8 */
		assert_true(thread_slot__self_off(&r, &machine_x86_64, self, &off));
		assert_int_equal(off, 0);
	}
	close(fd);
}

static void waits_for_a_runtime_that_has_not_started(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__threads(fd, 0, 0);
	assert_int_equal(locate(fd, &l, &c), -EAGAIN);
	close(fd);
}

static void names_an_unknown_version(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();
	char text[32];

	(void)state;
	fake__word(fd, FAKE_VERSION, 0x03080000);
	assert_int_equal(locate(fd, &l, &c), -ENOTSUP);
	cpython.print_version(l.version, text, sizeof(text));
	assert_string_equal(text, "3.8");
	close(fd);
}

/* They have no Py_Version. */
static void old_versions_differ_by_their_functions(void **state)
{
	static const uint32_t versions[] = { 0, 0x309, 0x30a };
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__word(fd, FAKE_RUNTIME + 32, FAKE_INTERPRETER);
	fake__word(fd, FAKE_INTERPRETER + 8, FAKE_THREADS);
	fake__word(fd, FAKE_THREADS + 176, FAKE_SELF);
	fake__word(fd, FAKE_SELF + 792, FAKE_THREADS);
	symbols[1] = 0;
	for (size_t i = 0; i < 3; i++) {
		symbols[3] = i > 0;
		symbols[2] = i > 1;
		assert_int_equal(locate(fd, &l, &c), i ? 0 : -ENOTSUP);
		assert_int_equal(l.version, versions[i]);
	}
	assert_int_equal(c.frame_off, 24);
	assert_int_equal(c.instr, 9);
	symbols[1] = FAKE_VERSION;
	symbols[2] = symbols[3] = 0;
	close(fd);
}

static void bounds_a_list_of_threads_that_loops(void **state)
{
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	fake__threads(fd, 2, 792);
	fake__word(fd, FAKE_THREADS + 4096 + 8, FAKE_THREADS);
	fake__word(fd, FAKE_INTERPRETER, FAKE_INTERPRETER);
	assert_int_equal(locate(fd, &l, &c), 0);
	assert_int_equal(c.state_off[0], 792);
	close(fd);
}

static void rejects_forged_offsets(void **state)
{
	static const uint64_t forged[] = { 1ull << 40, 81, 96, UINT32_MAX, UINT64_MAX };
	struct capture_runtime c;
	struct runtime_layout l;
	int fd = fake__new();

	(void)state;
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		fake__described(fd, 0x030d00f0, forged[i]);
		assert_int_equal(locate(fd, &l, &c), -ENOTSUP);
	}
	fake__described(fd, 0x7f0d00f0, 8);
	assert_int_equal(locate(fd, &l, &c), -ENOTSUP);
	close(fd);
}

/* ---- 3.9 and 3.10 -------------------------------------------------------------------------------
 */

static uint32_t line_at(const struct script_function *f, uint64_t off)
{
	uint32_t line;

	assert_true(script_function__line(f, off, &line));
	return line;
}

/* From 6 on: 300 lines more, in three steps. From 10 on: 5 less. */
static void decodes_the_line_table_of_3_9(void **state)
{
	static const uint8_t table[] = { 6, 127, 0, 127, 0, 46, 4, (uint8_t)-5, 1 };
	struct script_function f = { .first_line = 10, .sz = 20 };

	(void)state;
	assert_int_equal(cpython__decode_lnotab(&f, table, sizeof(table)), -EINVAL);
	assert_int_equal(f.cnt, 3);
	assert_int_equal(line_at(&f, 5), 10);
	assert_int_equal(line_at(&f, 6), 310);
	assert_int_equal(line_at(&f, 19), 305);
	script_function__free(&f);
}

/* Lines 11, none, 9. */
static void decodes_the_line_table_of_3_10(void **state)
{
	static const uint8_t table[] = { 4, 1, 2, 0x80, 0, 5, 6, (uint8_t)-7, 1 };
	struct script_function f = { .first_line = 10, .sz = 12 };

	(void)state;
	assert_int_equal(cpython__decode_line_pairs(&f, table, sizeof(table)), -EINVAL);
	assert_int_equal(line_at(&f, 3), 11);
	assert_int_equal(line_at(&f, 4), 0);
	assert_int_equal(line_at(&f, 11), 9);
	script_function__free(&f);
}

static void a_code_object_of_3_10_has_its_bytes_elsewhere(void **state)
{
	struct runtime_layout l = fake__layout();
	struct event_call call = { .instr = 3 | 77ull << 32 };
	struct script_function f = { 0 };
	int fd = fake__new();
	struct remote r = remote_of(fd);

	(void)state;
	fake__code(fd, &l);
	l.version = 0x30a;
	l.at[AT_CODE_BYTES] = 48;
	fake__word(fd, FAKE_CODE + 48, FAKE_TEXTS + 0x400);
	fake__word(fd, FAKE_TEXTS + 0x400 + 16, 40);
	assert_int_equal(cpython.read(&r, &l, FAKE_CODE, &f), 0);
	assert_int_equal(f.start, 0);
	assert_int_equal(f.sz, 40);
	assert_int_equal(cpython.instr(&l, &call), 6);
	call.instr = UINT32_MAX; /* it has not begun */
	assert_int_equal(cpython.instr(&l, &call), 0);
	script_function__free(&f);
	close(fd);
}

/* Frames: a C function, the evaluator, its caller, a cold part of it, its caller, the root. */
static void calls_of_3_9_are_the_activations_of_the_evaluator(void **state)
{
	static const uint64_t pcs[] = {
		0x10, 0x4100, 0x9000, 0x20, 0x9000, 0x30, 0x4200, 0x8000, 5
	};
	const struct mapping map = { .end = 1ull << 40, .path = "/usr/bin/python3.9" };
	struct runtime_layout l = fake__layout();
	struct event_call calls[4] = { 0 };
	static struct trace trace;
	struct runtime_calls c = { .layout = &l, .trace = &trace, .cnt = 3, .calls = calls };
	struct runtime_run runs[5];

	(void)state;
	l.version = 0x309;
	l.evaluator = (struct elf_symbol_code){ 0x4000, 0x5000 };
	trace.cnt = 9;
	for (size_t i = 0; i < trace.cnt; i++)
		trace.frames[i] = (struct frame){ pcs[i], 0x100 * i, &map, 0, 0 };
	assert_int_equal(cpython.split(&c, runs), 3);
	assert_int_equal(runs[0].anchor, 0x100);
	assert_int_equal(runs[1].anchor, 0x300);
	assert_int_equal(runs[2].anchor, 0x600);
	c.cnt = 2; /* the innermost activation has not begun its call */
	assert_int_equal(cpython.split(&c, runs), 2);
	assert_int_equal(runs[0].anchor, 0x300);
	c.cnt = 4; /* the stack is not whole */
	trace.status = UNWIND_TRUNCATED;
	assert_int_equal(cpython.split(&c, runs), 4);
	assert_int_equal(runs[0].anchor, 0x100);
	assert_int_equal(runs[3].anchor, 0);
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

#define STACK 0x7000

static void splits_by_the_frame_of_the_c_function(void **state)
{
	const struct event_call calls[] = {
		{ .at = 0x100 },
		{ .at = 0x200, .word = 1ull << 48 },
		{ .at = STACK, .word = 3ull << 48 },
		{ .at = 0x300 },
		{ .at = STACK + 64, .word = 4ull << 48 },
		{ .at = 0x400 },
	};
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = { .layout = &l, .cnt = 6, .calls = calls };
	struct runtime_run runs[7];

	(void)state;
	l.at[AT_FRAME_OWNER] = 70;
	l.at[AT_CFRAME_PREVIOUS] = AT_NONE;
	assert_int_equal(cpython.split(&c, runs), 3);
	assert_int_equal(runs[0].cnt, 2);
	assert_int_equal(runs[0].anchor, STACK);
	assert_int_equal(runs[1].first, 3);
	assert_int_equal(runs[1].cnt, 1);
	assert_int_equal(runs[1].anchor, STACK + 64);
	assert_int_equal(runs[2].first, 5);
	assert_int_equal(runs[2].anchor, 0);
}

static void splits_by_entry(void **state)
{
	uint64_t words[8] = { 0, 0, STACK + 32, 0, 0, 0, 0x123456, 0 };
	const struct snapshot stack = { STACK, sizeof(words), (const uint8_t *)words, NULL };
	const struct event_call calls[] = { { .at = 1 },
					    { .at = 2, .word = 1ull << 32 },
					    { .at = 3, .word = 1ull << 32 },
					    { .at = 4 } };
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = {
		.layout = &l, .stack = &stack, .base = STACK, .cnt = 4, .calls = calls
	};
	struct runtime_run runs[5];

	(void)state;
	assert_int_equal(cpython.split(&c, runs), 3);
	assert_int_equal(runs[0].cnt, 2);
	assert_int_equal(runs[0].anchor, STACK);
	assert_int_equal(runs[1].anchor, STACK + 32);
	assert_int_equal(runs[2].cnt, 1);
	assert_int_equal(runs[2].anchor, 0x123456);
}

RUN_TESTS(cmocka_unit_test(reads_names_and_lines), cmocka_unit_test(cleans_names),
	  cmocka_unit_test(rejects_what_is_no_code_object),
	  cmocka_unit_test(bounds_what_claims_to_be_large),

	  cmocka_unit_test(finds_the_slot_of_a_thread), cmocka_unit_test(takes_both_of_two_slots),
	  cmocka_unit_test(finds_the_state_in_an_array_of_musl),
	  cmocka_unit_test(finds_the_thread_pointer_above_a_descriptor),
	  cmocka_unit_test(waits_for_a_runtime_that_has_not_started),
	  cmocka_unit_test(names_an_unknown_version),
	  cmocka_unit_test(old_versions_differ_by_their_functions),
	  cmocka_unit_test(decodes_the_line_table_of_3_9),
	  cmocka_unit_test(decodes_the_line_table_of_3_10),
	  cmocka_unit_test(a_code_object_of_3_10_has_its_bytes_elsewhere),
	  cmocka_unit_test(calls_of_3_9_are_the_activations_of_the_evaluator),
	  cmocka_unit_test(bounds_a_list_of_threads_that_loops),
	  cmocka_unit_test(rejects_forged_offsets),
	  cmocka_unit_test(splits_by_the_frame_of_the_c_function),
	  cmocka_unit_test(splits_by_entry))
