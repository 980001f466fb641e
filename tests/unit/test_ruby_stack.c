// SPDX-License-Identifier: GPL-2.0-or-later
/* Ruby's calls on the C stack: runs, compiled code, waits (src/runtime/ruby_runs.c and others). */
#include "lib/test.h"

#include "event/sample.h"
#include "lib/fakeruby.h"
#include "process/process.h"

/* ---- runs ---------------------------------------------------------------------------------------
 */

#define STACK	0x7fff0000ull
#define FINISH	0x20
#define IN_EXEC 0xfedcba9876543210ull /* program counters that setjmp() has encoded */
#define IN_ROOT 0x123456789abcdef0ull

static struct tag_stack {
	uint64_t words[512];
} stack_bytes;

static const struct snapshot stack = { STACK, sizeof(stack_bytes), (const uint8_t *)&stack_bytes,
				       NULL };

/* A struct rb_vm_tag every 64 words from the innermost one on. */
static void put_tag(size_t i, uint64_t pc, bool last)
{
	uint64_t *words = stack_bytes.words + 64 * i;

	words[9] = pc;
	words[27] = last ? 0 : STACK + 512 * (i + 1);
}

static uint64_t tag_at(size_t i)
{
	return STACK + 512 * i;
}

static size_t split(const struct event_call *calls, size_t cnt, struct runtime_run *runs)
{
	struct runtime_layout l = fake__layout();
	struct runtime_calls c = {
		.layout = &l, .stack = &stack, .base = STACK, .cnt = cnt, .calls = calls
	};

	return ruby.split(&c, runs);
}

static void splits_by_the_finishing_frame(void **state)
{
	const struct event_call calls[] = { { .at = 1 },
					    { .at = 2, .word = FINISH },
					    { .at = 3 },
					    { .at = 4, .word = FINISH },
					    { .at = 5 } };
	struct runtime_run runs[6];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, 0x55, false); /* rb_ensure() */
	put_tag(1, IN_EXEC, false);
	put_tag(2, IN_EXEC, false);
	put_tag(3, IN_ROOT, true);
	assert_int_equal(split(calls, 5, runs), 3);
	assert_int_equal(runs[0].cnt, 2);
	assert_int_equal(runs[0].anchor, tag_at(1));
	assert_int_equal(runs[1].first, 2);
	assert_int_equal(runs[1].cnt, 2);
	assert_int_equal(runs[1].anchor, tag_at(2));
	assert_int_equal(runs[2].anchor, 0);
}

static void leaves_out_an_activation_that_has_just_begun(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH },
					    { .at = 2, .word = FINISH } };
	struct runtime_run runs[3];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, IN_EXEC, false);
	put_tag(1, IN_ROOT, true);
	assert_int_equal(split(calls, 2, runs), 2);
	assert_int_equal(runs[0].anchor, 0);
	assert_int_equal(runs[1].anchor, tag_at(0));
}

static void reads_what_gcc_saves(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH } };
	struct runtime_run runs[2];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	for (size_t i = 0; i < 2; i++) {
		uint64_t *words = stack_bytes.words + 64 * i;

		words[3] = i ? 0x400000 : 0x500000;
		words[4] = tag_at(i) - 16;
		words[7] = i ? 0 : tag_at(1);
	}
	assert_int_equal(split(calls, 1, runs), 1);
	assert_int_equal(runs[0].anchor, tag_at(0));
}

static void ends_with_tags_that_loop(void **state)
{
	const struct event_call calls[] = { { .at = 1, .word = FINISH } };
	struct runtime_run runs[2];

	(void)state;
	memset(&stack_bytes, 0, sizeof(stack_bytes));
	put_tag(0, IN_EXEC, false);
	put_tag(1, IN_ROOT, false);
	stack_bytes.words[64 + 27] = STACK;
	assert_int_equal(split(calls, 1, runs), 1);
	stack_bytes.words[27] = STACK;
	assert_int_equal(split(calls, 1, runs), 1);
}

/* ---- out of compiled code -----------------------------------------------------------------------
 */

static enum managed_result step_at(const uint64_t *words, size_t cnt, struct managed_frame *f)
{
	static struct mapping maps[] = {
		{ .start = 0x10000,
		  .end = 0x20000,
		  .kind = MAPPING_FILE,
		  .path = "/lib/libruby-3.3.so.3.3" },
		{ .start = 0x20000, .end = 0x30000, .kind = MAPPING_ANON, .path = "" },
		{ .start = 0x30000,
		  .end = 0x40000,
		  .kind = MAPPING_FILE,
		  .path = "/lib/libother.so" },
	};
	const struct process p = { .maps = maps, .map_cnt = 3 };
	const struct snapshot s = { STACK, cnt * 8, (const uint8_t *)words, NULL };
	const struct sample sample = { .stack = s };
	const struct managed_query q = { &p, &sample, &s, false };
	struct code_walk w = { .query = &q };

	*f = (struct managed_frame){ .pc = 0x20100, .sp = STACK, .fp = STACK + 24 };
	return ruby.code->step(&w, f);
}

static void leaves_compiled_code_by_an_address_in_ruby(void **state)
{
	const uint64_t words[] = { 1, 0x20500, 0x30100, 0x7777, 0x10500, 0x10600 };
	const uint64_t other[] = { 1, 0x20500, 0x30100, 0x7777 };
	struct managed_frame f;

	(void)state;
	assert_int_equal(step_at(words, 6, &f), MANAGED_STEPPED);
	assert_int_equal(f.pc, 0x10500);
	assert_int_equal(f.sp, STACK + 40);
	assert_int_equal(f.fp, 0x7777); /* saved where the frame pointer was */
	assert_true(f.hidden);
	assert_int_equal(step_at(other, 4, &f), MANAGED_NONE);
}

/* A branch stub of 3.3 and newer with --yjit-perf, with all registers in use. */
static void leaves_a_stub_that_has_saved_many_registers(void **state)
{
	uint64_t words[25] = { [19] = 0x10500 };
	struct managed_frame f;

	(void)state;
	assert_int_equal(step_at(words, 25, &f), MANAGED_STEPPED);
	assert_int_equal(f.pc, 0x10500);
	assert_int_equal(f.sp, STACK + 160);
	words[19] = 0;
	words[24] = 0x10500; /* no call of YJIT's code has it there */
	assert_int_equal(step_at(words, 25, &f), MANAGED_NONE);
}

/* ---- waits
 * ----------------------------------------------------------------------------------------
 */

/* The stack of pthread_cond_wait() of glibc. */
static bool waits_with(uint64_t version, uint64_t cond, uint64_t mutex)
{
	const uint64_t frame = 0x7000, at = frame + 8 * 7;
	const uint64_t words[16] = { [1] = frame + 8 * 3, /* the clean-up buffer */
				     [3] = 0x7f0000001000, [4] = at,	[7] = 107,
				     [8] = cond,	   [9] = mutex, [10] = 0x7f0000000000 };
	const struct snapshot part = { frame, sizeof(words), (const uint8_t *)words, NULL };
	struct runtime_layout l = fake__layout();

	l.at[RUBY_THREAD_NATIVE] = version > 0x301 ? 40 : RUBY_NONE;
	return ruby__waits_for_turn(&l, &part, (struct stack_part){ frame, frame + sizeof(words) });
}

static void a_wait_for_its_turn_has_the_mutex_of_the_vm(void **state)
{
	(void)state;
	assert_true(waits_with(0x301, 0x55000010a018, 0x550000109008));
	assert_true(waits_with(0x301, 0x55000010a018, 0x5500001f0008));
	assert_false(waits_with(0x301, 0x55000010a018, 0x55000010a070)); /* the thread's own */
	assert_false(waits_with(0x301, 0x55000010a018, 0x7008));	 /* no mutex */
	assert_false(waits_with(0x301, 0, 0x5500001f0008));
	assert_false(waits_with(0x303, 0x55000010a018, 0x5500001f0008));
}

static void a_stack_that_is_cut_has_no_wait(void **state)
{
	const uint64_t words[3] = { 0x7010, 0x7008, 0x7ff8 };
	const struct snapshot part = { 0x7000, sizeof(words), (const uint8_t *)words, NULL };
	struct runtime_layout l = fake__layout();

	(void)state;
	l.at[RUBY_THREAD_NATIVE] = RUBY_NONE;
	assert_false(ruby__waits_for_turn(&l, &part, (struct stack_part){ 0x7000, UINT64_MAX }));
	assert_false(ruby__waits_for_turn(&l, &part, (struct stack_part){ 0x9000, 0x8000 }));
}

RUN_TESTS(cmocka_unit_test(splits_by_the_finishing_frame),
	  cmocka_unit_test(leaves_out_an_activation_that_has_just_begun),
	  cmocka_unit_test(reads_what_gcc_saves), cmocka_unit_test(ends_with_tags_that_loop),
	  cmocka_unit_test(leaves_compiled_code_by_an_address_in_ruby),
	  cmocka_unit_test(leaves_a_stub_that_has_saved_many_registers),
	  cmocka_unit_test(a_wait_for_its_turn_has_the_mutex_of_the_vm),
	  cmocka_unit_test(a_stack_that_is_cut_has_no_wait))
