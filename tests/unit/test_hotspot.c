// SPDX-License-Identifier: GPL-2.0-or-later
/* HotSpot: its tables, its code cache, its methods, and the walk through its frames. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "fakejvm.h"

#define STACK	 0x7000 /* address of the snapshot */
#define WORDS	 512
#define RUN_CODE (JVM_NMETHOD + JVM_BEGIN)

struct rig {
	int fd;
	struct runtime_layout layout;
	struct code_blob *blobs[3]; /* of the nmethod, the stub and the interpreter */
	uint64_t stack[WORDS], regs[EVENT_REG_CNT];
};

static int read_code(const struct rig *r, uint64_t pc, struct code_blob *b)
{
	struct remote remote = { .mem = r->fd, .left = 8 << 20 };
	const struct code_wanted w = { .pc = pc };

	*b = (struct code_blob){ 0 };
	return hotspot__read_code(&remote, &r->layout, &w, b);
}

static int setup(void **state)
{
	static const uint64_t at[] = { JVM_NMETHOD, JVM_STUB, JVM_INTERP };
	struct rig *r = calloc(1, sizeof(*r));

	r->fd = jvm__new();
	if (r->fd < 0 || jvm__layout(r->fd, &r->layout) != 0)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		r->blobs[i] = calloc(1, sizeof(struct code_blob));
		if (read_code(r, at[i] + JVM_BEGIN + 0x40, r->blobs[i]) != 0)
			return -1;
	}
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < 3; i++)
		code_blob__free(r->blobs[i]);
	close(r->fd);
	free(r);
	return 0;
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static void the_tables_say_where_fields_are(void **state)
{
	struct rig *r = *state;

	assert_int_equal(r->layout.version, 17);
	assert_int_equal(r->layout.at[JVM_NMETHOD_ID], 48);
	assert_int_equal(r->layout.at[JVM_POOL_SZ], JVM_POOL_HEADER_SZ);
	assert_int_equal(r->layout.at[JVM_CONST_HAS_LINES], 1);
	assert_int_equal(r->layout.at[JVM_NMETHOD_FIXED], JVM_NONE);
}

static void a_field_that_is_missing_is_an_unknown_version(void **state)
{
	struct rig *r = *state;

	jvm__word(r->fd, JVM_FIELDS + 20 * 48 + 8, jvm__text(r->fd, "_renamed"));
	assert_int_equal(jvm__layout(r->fd, &r->layout), -ENOTSUP);
}

static void an_offset_out_of_all_bounds_is_an_unknown_version(void **state)
{
	struct rig *r = *state;

	jvm__word(r->fd, JVM_FIELDS + 20 * 48 + 32, 1ull << 40);
	assert_int_equal(jvm__layout(r->fd, &r->layout), -ENOTSUP);
}

static void a_vm_without_heaps_has_not_started(void **state)
{
	struct rig *r = *state;

	jvm__word(r->fd, JVM_HEAPS, 0);
	assert_int_equal(jvm__layout(r->fd, &r->layout), -EAGAIN);
}

static void a_vm_with_one_heap_is_that_of_jdk_8(void **state)
{
	struct rig *r = *state;
	struct code_ranges ranges;
	struct remote remote;

	jvm__word(r->fd, JVM_FIELDS + 8, jvm__text(r->fd, "_heap"));
	jvm__word(r->fd, JVM_HEAPS, JVM_HEAP);
	assert_int_equal(jvm__layout(r->fd, &r->layout), 0);
	assert_int_equal(r->layout.version, 8);
	remote = (struct remote){ .mem = r->fd, .left = 1 << 20 };
	assert_int_equal(hotspot__read_ranges(&remote, &r->layout, &ranges), 0);
	assert_int_equal(ranges.cnt, 1);
	assert_int_equal(ranges.at[0].start, JVM_CODE);
	assert_int_equal(ranges.at[0].end, JVM_CODE_END);
}

static void forget(struct code_blob *b)
{
	for (size_t i = 0; i < b->script_cnt; i++)
		script__free(&b->scripts[i]);
	free(b->scripts);
}

/* ---- code ---------------------------------------------------------------------------------------
 */

static void any_address_leads_to_its_code(void **state)
{
	struct rig *r = *state;
	struct code_blob b;

	for (uint64_t off = 0; off < 0x1000 - JVM_BEGIN; off += 0x177) {
		assert_int_equal(read_code(r, JVM_STUB + JVM_BEGIN + off, &b), 0);
		assert_int_equal(b.start, JVM_STUB + JVM_BEGIN);
		assert_int_equal(b.end, JVM_STUB + JVM_BEGIN + 0x1000);
		assert_string_equal(b.scripts[0].name, "StubRoutines (1)");
		forget(&b);
	}
}

static void code_has_its_kind(void **state)
{
	struct rig *r = *state;

	assert_int_equal(r->blobs[0]->kind, CODE_COMPILED);
	assert_int_equal(r->blobs[0]->id, JVM_ID);
	assert_int_equal(r->blobs[0]->frame_sz, 64);
	assert_int_equal(r->blobs[1]->kind, CODE_STUB);
	assert_int_equal(r->blobs[2]->kind, CODE_INTERPRETER);
}

static void free_memory_and_data_are_no_code(void **state)
{
	struct rig *r = *state;
	struct code_blob b;

	assert_int_equal(read_code(r, JVM_CODE_END - 8, &b), -ENOENT);
	assert_int_equal(read_code(r, JVM_STUB + 8, &b), -ENOENT); /* its header */
	forget(&b);
	jvm__word(r->fd, JVM_STUB - 8, 0); /* not used any more */
	assert_int_equal(read_code(r, JVM_STUB + JVM_BEGIN, &b), -ENOENT);
	assert_int_equal(read_code(r, 0x1234, &b), -ENOENT);
}

static void a_map_that_leads_out_of_the_heap_is_refused(void **state)
{
	struct rig *r = *state;
	struct code_blob b;
	uint8_t back = 200;

	jvm__put(r->fd, JVM_MAP + (JVM_STUB + JVM_BEGIN - JVM_CODE) / 128, &back, 1);
	assert_int_equal(read_code(r, JVM_STUB + JVM_BEGIN, &b), -ENOENT);
}

static void the_compile_id_says_whether_it_is_the_same_code(void **state)
{
	struct rig *r = *state;
	struct remote remote = { .mem = r->fd, .left = 8 << 20 };
	const struct code_wanted w = { .pc = RUN_CODE, .header = JVM_NMETHOD, .id = JVM_ID };
	struct code_blob *b = calloc(1, sizeof(*b));

	assert_int_equal(hotspot__read_code(&remote, &r->layout, &w, b), -EALREADY);
	jvm__u32(r->fd, JVM_NMETHOD + 48, JVM_ID + 1);
	assert_int_equal(hotspot__read_code(&remote, &r->layout, &w, b), 0);
	assert_int_equal(b->id, JVM_ID + 1);
	code_blob__free(b);
}

/* ---- methods ------------------------------------------------------------------------------------
 */

static int read_method(const struct rig *r, struct script_function *f)
{
	struct remote remote = { .mem = r->fd, .left = 1 << 20 };

	*f = (struct script_function){ 0 };
	return hotspot__read_method(&remote, &r->layout, JVM_METHOD, f);
}

static void a_method_has_names_and_lines(void **state)
{
	struct rig *r = *state;
	struct script_function f;
	uint32_t line;

	assert_int_equal(read_method(r, &f), 0);
	assert_string_equal(f.script.name, "org.app.App.run");
	assert_string_equal(f.script.module, "org/app/App.java");
	assert_int_equal(f.first_line, 30);
	assert_true(script_function__line(&f, f.start + 5, &line));
	assert_int_equal(line, 31);
	assert_true(script_function__line(&f, f.start + 9, &line));
	assert_int_equal(line, 40);
	assert_false(script_function__line(&f, f.start + 10, &line));
	script_function__free(&f);
}

static void what_differs_between_runs_is_no_part_of_a_name(void **state)
{
	struct rig *r = *state;
	struct script_function f;

	jvm__symbol(r->fd, 4, "a/B$$Lambda$14+0x0000000800c01000");
	jvm__u16(r->fd, JVM_POOL + 16, 0);
	assert_int_equal(read_method(r, &f), 0);
	assert_string_equal(f.script.name, "a.B$$Lambda.run");
	assert_string_equal(f.script.module, "a/B$$Lambda");
	script_function__free(&f);
	jvm__symbol(r->fd, 4, "a/B$$Lambda$14");
	assert_int_equal(read_method(r, &f), 0);
	assert_string_equal(f.script.name, "a.B$$Lambda.run");
	script_function__free(&f);
}

static void a_name_out_of_the_pool_is_no_method(void **state)
{
	struct rig *r = *state;
	struct script_function f;

	jvm__u16(r->fd, JVM_METHOD + 0x100 + 22, 16);
	assert_int_equal(read_method(r, &f), -EINVAL);
	script_function__free(&f);
}

static void numbers_of_all_versions_are_read(void **state)
{
	static const uint8_t bytes[] = { 191, 192, 0, 255, 255, 255, 255, 255 };
	struct hotspot_numbers n = { bytes, bytes + sizeof(bytes), 0, false };

	(void)state;
	assert_int_equal(hotspot_numbers__take(&n), 191);
	assert_int_equal(hotspot_numbers__take(&n), 192);
	assert_int_equal(hotspot_numbers__take(&n),
			 255 * (1 + 64 + 4096 + 262144) + 255u * 16777216u);
	assert_false(n.err);
	hotspot_numbers__take(&n);
	assert_true(n.err);
	n = (struct hotspot_numbers){ bytes, bytes + 3, 1, false };
	assert_int_equal(hotspot_numbers__take(&n), 190);
	hotspot_numbers__take(&n); /* a byte of 0 does not belong to a number from JDK 20 on */
	assert_true(n.err);
}

/* ---- scopes -------------------------------------------------------------------------------------
 */

static void a_place_has_the_methods_that_are_inlined_there(void **state)
{
	struct rig *r = *state;
	const struct code_blob *b = r->blobs[0];
	uint32_t s = code_blob__scope(b, RUN_CODE + 0x40, true);

	assert_int_not_equal(s, CODE_NOWHERE);
	assert_string_equal(b->scripts[b->scopes[s].function].name, "org.app.App.helper");
	assert_int_equal(b->scopes[s].line, 31);
	assert_int_equal(b->scopes[s].line_in, 2);
	s = b->scopes[s].caller;
	assert_int_not_equal(s, CODE_NOWHERE);
	assert_string_equal(b->scripts[b->scopes[s].function].name, "org.app.App.run");
	assert_int_equal(b->scopes[s].line, 40);
	assert_int_equal(b->scopes[s].caller, CODE_NOWHERE);
}

static void a_return_address_is_at_a_place_and_others_before_it(void **state)
{
	struct rig *r = *state;
	const struct code_blob *b = r->blobs[0];

	assert_int_equal(code_blob__scope(b, RUN_CODE + 0x3f, true), CODE_NOWHERE);
	assert_int_equal(code_blob__scope(b, RUN_CODE + 0x3f, false),
			 code_blob__scope(b, RUN_CODE + 0x40, true));
	assert_int_equal(code_blob__scope(b, RUN_CODE + 0x61, false), CODE_NOWHERE);
}

static void scopes_that_call_one_another_are_refused(void **state)
{
	struct rig *r = *state;
	struct code_blob *b = calloc(1, sizeof(*b));
	uint8_t self = 7;

	jvm__put(r->fd, JVM_NMETHOD + 0x2080 + 7, &self, 1);
	assert_int_equal(read_code(r, RUN_CODE, b), 0);
	assert_int_equal(code_blob__scope(b, RUN_CODE + 0x40, true), CODE_NOWHERE);
	assert_int_not_equal(code_blob__scope(b, RUN_CODE + 0x20, true), CODE_NOWHERE);
	code_blob__free(b);
}

static void places_out_of_order_are_refused(void **state)
{
	struct rig *r = *state;
	struct code_blob *b = calloc(1, sizeof(*b));

	jvm__u32(r->fd, JVM_NMETHOD + 0x2080 + 10 + 32, 0x20);
	assert_int_equal(read_code(r, RUN_CODE, b), -EINVAL);
	code_blob__free(b);
}

/* ---- the walk -----------------------------------------------------------------------------------
 */

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(TEST(the_tables_say_where_fields_are),
	  TEST(a_field_that_is_missing_is_an_unknown_version),
	  TEST(an_offset_out_of_all_bounds_is_an_unknown_version),
	  TEST(a_vm_without_heaps_has_not_started), TEST(a_vm_with_one_heap_is_that_of_jdk_8),
	  TEST(any_address_leads_to_its_code), TEST(code_has_its_kind),
	  TEST(free_memory_and_data_are_no_code), TEST(a_map_that_leads_out_of_the_heap_is_refused),
	  TEST(the_compile_id_says_whether_it_is_the_same_code), TEST(a_method_has_names_and_lines),
	  TEST(what_differs_between_runs_is_no_part_of_a_name),
	  TEST(a_name_out_of_the_pool_is_no_method), TEST(numbers_of_all_versions_are_read),
	  TEST(a_place_has_the_methods_that_are_inlined_there),
	  TEST(a_return_address_is_at_a_place_and_others_before_it),
	  TEST(scopes_that_call_one_another_are_refused), TEST(places_out_of_order_are_refused),
	  TEST(a_compiled_caller_has_a_frame_of_known_size),
	  TEST(a_leaf_may_have_made_its_frame_in_part),
	  TEST(a_frame_that_returns_to_a_handler_has_its_place_saved),
	  TEST(an_interpreted_frame_has_its_callers_stack_pointer),
	  TEST(an_interpreter_at_a_call_has_its_caller_in_registers),
	  TEST(a_stub_has_its_return_address_on_top_or_a_frame_pointer),
	  TEST(the_return_barrier_leads_to_the_caller_of_the_continuation),
	  TEST(a_stub_for_continuations_is_the_barrier), TEST(a_frame_that_leads_nowhere_is_lost))
