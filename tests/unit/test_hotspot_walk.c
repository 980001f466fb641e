// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk through the frames of HotSpot. */
#include "lib/test.h"

#include "lib/hotspot_scene.h"

struct rig_walk {
	struct code_walk walk;
	struct rig *rig;
};

static const struct code_blob *find(struct code_walk *walk, uint64_t pc)
{
	struct rig *r = ((struct rig_walk *)walk)->rig;

	for (size_t i = 0; i < 3; i++)
		if (pc >= r->blobs[i]->start && pc < r->blobs[i]->end)
			return r->blobs[i];
	return NULL;
}

static enum managed_result step(struct rig *r, struct managed_frame *f)
{
	const struct snapshot stack = { STACK, sizeof(r->stack), (const uint8_t *)r->stack, NULL };
	const struct process nobody = { 0 };
	const struct sample sample = { .stack = stack };
	const struct managed_query q = { &nobody, &sample, &stack, false };
	struct rig_walk w = { { .query = &q, .find = find }, r };

	f->own_pc = f->pc;
	f->own_sp = f->sp;
	f->interprets = false;
	f->regs = f->caller ? NULL : r->regs;
	return hotspot__step(&w.walk, f);
}

/* The frame of run(), from the stack's word `idx` on, which was called from itself. */
static void put_frame(struct rig *r, size_t idx)
{
	r->stack[idx + 6] = 0xf0f0; /* the saved frame pointer */
	r->stack[idx + 7] = RUN_CODE + 0x20;
}

static void assert_left(const struct managed_frame *f, size_t idx, uint64_t fp)
{
	assert_int_equal(f->pc, RUN_CODE + 0x20);
	assert_int_equal(f->sp, STACK + 8 * idx);
	assert_int_equal(f->fp, fp);
}

static void a_compiled_caller_has_a_frame_of_known_size(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = RUN_CODE + 0x40, .sp = STACK, .fp = 1, .caller = true };

	put_frame(r, 0);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 8, 0xf0f0);
}

static void a_leaf_may_have_made_its_frame_in_part(void **state)
{
	static const struct {
		uint64_t off;
		size_t idx; /* of the stack pointer; that of the whole frame is 0 */
		uint64_t fp;
	} leaves[] = {
		{ 0, 7, 1 },	      { 1, 6, 0xf0f0 },	    { 5, 0, 0xf0f0 },
		{ 0x100, 0, 0xf0f0 }, { 0x104, 6, 0xf0f0 }, { 0x105, 7, 1 },
	};
	struct rig *r = *state;

	put_frame(r, 0);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		struct managed_frame f = { .pc = RUN_CODE + leaves[i].off,
					   .sp = STACK + 8 * leaves[i].idx,
					   .fp = 1 };

		assert_int_equal(step(r, &f), MANAGED_STEPPED);
		assert_left(&f, 8, leaves[i].fp);
	}
}

static void a_frame_that_returns_to_a_handler_has_its_place_saved(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = RUN_CODE + 0x900, .sp = STACK, .caller = true };

	put_frame(r, 0);
	r->stack[2] = RUN_CODE + 0x40;
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_int_equal(f.own_pc, RUN_CODE + 0x40);
}

/* At the stack's word `idx`: sender's stack pointer, Method and bytecode pointer below it. */
static void put_interpreted(struct rig *r, size_t idx)
{
	r->stack[idx] = 0xf0f0;
	r->stack[idx + 1] = RUN_CODE + 0x20;
	r->stack[idx - 1] = STACK + 8 * (idx + 10);
	r->stack[idx - 3] = JVM_METHOD;
	r->stack[idx - 7] = 0x7777;
	r->stack[idx - 8] = JVM_METHOD + 0x100 + JVM_CONST_METHOD_SZ + 4;
}

static void an_interpreted_frame_has_its_callers_stack_pointer(void **state)
{
	struct rig *r = *state;
	const struct snapshot s = { STACK, sizeof(r->stack), (const uint8_t *)r->stack, NULL };
	struct managed_frame f = { .pc = JVM_INTERP + JVM_BEGIN + 9,
				   .sp = STACK,
				   .fp = STACK + 8 * 20 };
	struct frame found = { .sp = f.fp, .flags = FRAME_INTERPRETS | FRAME_CALLER };
	uint64_t method;

	put_interpreted(r, 20);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 30, 0xf0f0);
	assert_true(f.interprets);
	assert_int_equal(f.own_sp, found.sp);
	assert_true(hotspot__function(&s, &found, &method));
	assert_int_equal(method, JVM_METHOD);
	assert_int_equal(hotspot__instr(&r->layout, NULL, &s, &found),
			 JVM_METHOD + 0x100 + JVM_CONST_METHOD_SZ + 4);
	r->layout.version = JVM_ONE_HEAP;
	assert_int_equal(hotspot__instr(&r->layout, NULL, &s, &found), r->stack[20 - 7]);
}

static void an_interpreter_at_a_call_has_its_caller_in_registers(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JVM_INTERP + JVM_BEGIN + 9, .sp = STACK, .fp = 0xf0f0 };

	r->regs[13] = STACK + 8 * 8;
	r->regs[0] = RUN_CODE + 0x20;
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 8, 0xf0f0);
	assert_false(f.interprets);
}

static void a_stub_has_its_return_address_on_top_or_a_frame_pointer(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JVM_STUB + JVM_BEGIN + 9, .sp = STACK, .fp = 0xf0f0 };

	r->stack[0] = RUN_CODE + 0x20;
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 1, 0xf0f0);
	f = (struct managed_frame){ .pc = JVM_STUB + JVM_BEGIN + 9,
				    .sp = STACK + 8,
				    .fp = STACK + 8 * 4 };
	r->stack[4] = 0xf1f1;
	r->stack[5] = RUN_CODE + 0x20;
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 6, 0xf1f1);
}

static void put_entry(struct rig *r, size_t idx)
{
	static const uint64_t words[] = { 0, 0xf788fd60, 0, 1, STACK + 8 * 30, 0, 0x7fca00000000 };

	memcpy(&r->stack[idx], words, sizeof(words));
	r->stack[idx + 7] = 0xf0f0;
	r->stack[idx + 8] = RUN_CODE + 0x20;
}

/* Between them lie arguments, and what other frames have left. */
static void the_return_barrier_leads_to_the_caller_of_the_continuation(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JVM_STUB + JVM_BEGIN + 9, .sp = STACK, .caller = true };

	r->blobs[1]->kind = CODE_BARRIER;
	r->stack[4] = RUN_CODE + 0x20;
	assert_int_equal(step(r, &f), MANAGED_LOST);
	put_entry(r, 9);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_left(&f, 9 + 9, 0xf0f0);
}

static void a_stub_for_continuations_is_the_barrier(void **state)
{
	struct rig *r = *state;
	struct code_blob b;

	jvm__word(r->fd, JVM_STUB, jvm__text(r->fd, "StubRoutines (continuation stubs)"));
	assert_int_equal(read_code(r, JVM_STUB + JVM_BEGIN, &b), 0);
	assert_int_equal(b.kind, CODE_BARRIER);
	assert_string_equal(b.scripts[0].name, "(virtual thread: callers on the heap)");
	forget(&b);
}

static void a_frame_that_leads_nowhere_is_lost(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JVM_INTERP + JVM_BEGIN, .sp = STACK, .fp = 7 };

	assert_int_equal(step(r, &f), MANAGED_LOST);
	f = (struct managed_frame){ .pc = RUN_CODE + 0x40,
				    .sp = STACK + 8 * (WORDS - 4),
				    .caller = true };
	assert_int_equal(step(r, &f), MANAGED_LOST);
}

RUN_TESTS(TEST(a_compiled_caller_has_a_frame_of_known_size),
	  TEST(a_leaf_may_have_made_its_frame_in_part),
	  TEST(a_frame_that_returns_to_a_handler_has_its_place_saved),
	  TEST(an_interpreted_frame_has_its_callers_stack_pointer),
	  TEST(an_interpreter_at_a_call_has_its_caller_in_registers),
	  TEST(a_stub_has_its_return_address_on_top_or_a_frame_pointer),
	  TEST(the_return_barrier_leads_to_the_caller_of_the_continuation),
	  TEST(a_stub_for_continuations_is_the_barrier), TEST(a_frame_that_leads_nowhere_is_lost))
