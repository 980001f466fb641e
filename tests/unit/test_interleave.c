// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls of an interpreted program between native frames. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

#include "process/process.h"
#include "runtime/interleave.h"

static struct trace trace;
static struct interleave_room room;
static struct script scripts[4] = { { "a.py", "a", 0, 0 },
				    { "b.py", "b", 0, 0 },
				    { "c.py", "c", 0, 0 },
				    { "[python]", NULL, 0, 0 } };
static struct elf_file python_file, other_file;
static struct mapping python = { .file = &python_file }, other = { .file = &other_file };

/* Code of other_file: empty, or that of w. */
static struct elf_symbol_code waits[RUNTIME_WAITS];

/* Native frames, leaf first, 0x100 bytes each from 0x1000 on: E runs calls, p is of the same file,
 * o of another. */
static void begin(const char *frames, enum unwind_status status)
{
	trace.cnt = strlen(frames);
	trace.status = status;
	for (size_t i = 0; i < trace.cnt; i++)
		trace.frames[i] =
			(struct frame){ .pc = (uint64_t)frames[i],
					.sp = 0x1000 + 0x100 * i,
					.map = strchr("ow", frames[i]) ? &other : &python };
}

/* What is in the trace: E, p, o; I for what became the interpreter's; calls by their names, in
 * capitals when they were placed by order, ? without one. */
static const char *describe(void)
{
	static char text[64];
	size_t n = 0;

	for (size_t i = 0; i < trace.cnt; i++) {
		const struct frame *f = &trace.frames[i];
		const struct script_call *c =
			f->flags & FRAME_SCRIPT ? trace__call(&trace, i) : NULL;

		if (!c)
			text[n++] = f->flags & FRAME_INTERPRETER ? 'I' : (char)f->pc;
		else if (!c->script->name)
			text[n++] = strcmp(c->mark, "python_gone") == 0 ? '?' : '!';
		else
			text[n++] = strcmp(c->mark, "python_order") == 0
					    ? (char)(c->script->name[0] - 32)
					    : c->script->name[0];
	}
	text[n] = '\0';
	return text;
}

/* Calls 0, 1, 2 … have the scripts a, b, c, …; a hidden one has none. */
static void merge(const struct runtime_run *runs, size_t cnt, size_t hidden)
{
	struct script_call calls[4];
	struct interleave_input in = { &cpython, runs, cnt, calls, false, waits, NULL, NULL };

	for (size_t i = 0; i < 4; i++)
		calls[i] = (struct script_call){ .script = i == hidden ? NULL : &scripts[i] };
	interleave__calls(&trace, &in, &room);
}

static void puts_runs_before_the_frames_that_hold_their_anchors(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1108, 0 }, { 1, 2, 0x1400, 0 } };

	(void)state;
	begin("pEpoEpo", UNWIND_ROOT);
	merge(runs, 2, 9);
	assert_string_equal(describe(), "paIIobcIIo");
	assert_int_equal(trace.status, UNWIND_ROOT);
}

static void a_thread_that_waits_for_its_turn_has_a_leaf_that_says_so(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1308, 0 } };

	(void)state;
	waits[1] = (struct elf_symbol_code){ 'w', 'w' + 1 };
	begin("owpEpo", UNWIND_ROOT);
	merge(runs, 1, 9);
	assert_string_equal(describe(), "(owpaIIo");
	assert_string_equal(trace__call(&trace, 0)->mark, "waits");
	/* A library between them waits for something of its own. */
	begin("wopEpo", UNWIND_ROOT);
	merge(runs, 1, 9);
	assert_string_equal(describe(), "wopaIIo");
	waits[1] = (struct elf_symbol_code){ 0, 0 };
	begin("owpEpo", UNWIND_ROOT);
	merge(runs, 1, 9);
	assert_string_equal(describe(), "owpaIIo");
}

static void leaves_the_root_unmarked(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1108, 0 } };

	(void)state;
	begin("pEpp", UNWIND_ROOT);
	merge(runs, 1, 9);
	assert_string_equal(describe(), "paIIp");
}

static void leaves_out_hidden_calls(void **state)
{
	const struct runtime_run runs[] = { { 0, 3, 0x1100, 0 } };

	(void)state;
	begin("pEo", UNWIND_ROOT);
	merge(runs, 1, 1);
	assert_string_equal(describe(), "pacIo");
}

static void puts_calls_by_order_where_no_frame_holds_the_anchor(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1100, 0 },
					    { 1, 1, 0x9000, 0 },
					    { 2, 1, 0, 0 } };

	(void)state;
	begin("pEpo", UNWIND_ROOT);
	merge(runs, 3, 9);
	assert_string_equal(describe(), "paIBICo");
}

/* All E are at one place in the code. */
static void puts_calls_by_order_before_frames_at_the_same_place(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1100, 0 }, { 1, 1, 0, 0 }, { 2, 1, 0, 0 } };

	(void)state;
	begin("oEppEpEpo", UNWIND_STITCHED);
	merge(runs, 3, 9);
	assert_string_equal(describe(), "oaIIIBIICIIo");
}

static void puts_calls_last_if_the_native_stack_is_cut(void **state)
{
	const struct runtime_run runs[] = { { 0, 1, 0x1100, 0 },
					    { 1, 1, 0x1900, 0 },
					    { 2, 1, 0, 0 } };

	(void)state;
	begin("oEpo", UNWIND_TRUNCATED);
	merge(runs, 3, 9);
	assert_string_equal(describe(), "oaIIoBC");
	assert_int_equal(trace.status, UNWIND_TRUNCATED);
}

static void marks_calls_without_a_name(void **state)
{
	const struct runtime_run runs[] = { { 3, 1, 0x1100, 0 } };

	(void)state;
	begin("pEo", UNWIND_ROOT);
	merge(runs, 1, 9);
	assert_string_equal(describe(), "p?Io");
}

static void ends_at_the_limit_of_a_trace(void **state)
{
	const struct runtime_run runs[] = { { 0, 3, 0x1000, 0 } };

	(void)state;
	trace.cnt = TRACE_MAX;
	trace.status = UNWIND_ROOT;
	for (size_t i = 0; i < TRACE_MAX; i++)
		trace.frames[i] = (struct frame){ .pc = 'o', .sp = 0x1000 + 16 * i, .map = &other };
	merge(runs, 1, 9);
	assert_int_equal(trace.cnt, TRACE_MAX);
	assert_int_equal(trace.status, UNWIND_LIMIT);
	assert_true(trace.frames[2].flags & FRAME_SCRIPT);
}

/* The callee of the runner is the interpreter, too. The frames of a C function that is called are
 * before its call: those up to the one closest to its start. */
static void puts_calls_below_the_core_of_an_interpreter(void **state)
{
	const struct runtime_run runs[] = { { 0, 2, 0x1300, 0 }, { 2, 1, 0x1300, 'o' - 1 } };
	struct script_call calls[4] = { { .script = &scripts[0] },
					{ .script = &scripts[1] },
					{ .script = &scripts[2] } };
	struct interleave_input in = { &ruby, runs, 1, calls, false, NULL, NULL, NULL };

	(void)state;
	begin("oppEoE", UNWIND_ROOT);
	interleave__calls(&trace, &in, &room);
	assert_int_equal(trace.frames[2].flags, FRAME_SCRIPT);
	assert_int_equal(trace.frames[3].flags, FRAME_SCRIPT);
	assert_int_equal(trace.frames[4].flags, FRAME_INTERPRETER);
	assert_int_equal(trace.frames[5].flags, FRAME_INTERPRETER);
	begin("popEpE", UNWIND_ROOT);
	in.runs = runs + 1;
	interleave__calls(&trace, &in, &room);
	assert_int_equal(trace.frames[2].flags, FRAME_SCRIPT);
	assert_int_equal(trace.frames[3].flags, FRAME_INTERPRETER);
}

RUN_TESTS(cmocka_unit_test(puts_runs_before_the_frames_that_hold_their_anchors),
	  cmocka_unit_test(a_thread_that_waits_for_its_turn_has_a_leaf_that_says_so),
	  cmocka_unit_test(leaves_the_root_unmarked), cmocka_unit_test(leaves_out_hidden_calls),
	  cmocka_unit_test(puts_calls_by_order_where_no_frame_holds_the_anchor),
	  cmocka_unit_test(puts_calls_by_order_before_frames_at_the_same_place),
	  cmocka_unit_test(puts_calls_last_if_the_native_stack_is_cut),
	  cmocka_unit_test(marks_calls_without_a_name),
	  cmocka_unit_test(ends_at_the_limit_of_a_trace),
	  cmocka_unit_test(puts_calls_below_the_core_of_an_interpreter))
