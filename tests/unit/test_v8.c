// SPDX-License-Identifier: GPL-2.0-or-later
/* V8: its constants, its functions, its code, and the walk through its frames. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/coderig.h"
#include "lib/fakev8.h"

#define JIT   (FAKE_STREAM + 0x100)
#define BASE  (FAKE_BASELINE + 0x100)
#define FILED 0x10000 /* a mapping of the runtime's file: builtins */

/* Optimised code, baseline code, bytecode. */
static const struct rig_parts parts = {
	.memory = fake__new,
	.layout = fake__layout,
	.wanted = { { .pc = JIT + 0x40 },
		    { .pc = BASE + 0x30 },
		    { .pc = FAKE_BYTECODE + FAKE_DATA, .hint = OBJECT(FAKE_FUNCTION) } },
};

static int setup(void **state)
{
	return rig__new(state, &parts);
}

/* Reads a piece again; it is to be freed. */
static struct code_blob *read_again(const struct rig *r, const struct code_wanted *w, int expected)
{
	struct code_blob *b = calloc(1, sizeof(*b));

	assert_int_equal(rig__read(r, w, b), expected);
	return b;
}

/* ---- constants ----------------------------------------------------------------------------------
 */

static uint64_t constant(const char *name)
{
	for (size_t i = 0; v8_symbols[i]; i++)
		if (strstr(v8_symbols[i], name))
			return FAKE_CONSTANTS + 8 * i;
	return 0;
}

/* Writing over a constant has no effect on later layouts: the fake writes all of them. */
static int layout_with(struct rig *r, const char *name, uint32_t value)
{
	uint64_t symbols[RUNTIME_SYMBOLS] = { 0 };
	struct remote remote = { .mem = r->fd, .left = 4 << 20 };

	for (size_t i = 0; v8_symbols[i]; i++)
		symbols[i] = fake__symbol(r->fd, i);
	fake__u32(r->fd, constant(name), value);
	return v8__read_layout(&remote, symbols, &r->layout);
}

static void constants_say_where_fields_are(void **state)
{
	struct rig *r = *state;

	assert_int_equal(r->layout.version, 12 << 16 | 4);
	assert_int_equal(r->layout.at[V8_FUNCTION_SHARED], 32);
	assert_int_equal((int32_t)r->layout.at[V8_FP_BYTECODE], -32);
	assert_int_equal(r->layout.at[V8_CODE_POSITIONS], 16); /* which no constant says */
	assert_int_equal(r->layout.at[V8_WRAPPER_SHARED], V8_NONE);
}

static void another_notation_of_values_is_an_unknown_version(void **state)
{
	assert_int_equal(layout_with(*state, "TaggedSize", 4), -ENOTSUP);
	assert_int_equal(layout_with(*state, "ConsStringTag", 2), -ENOTSUP);
}

static void a_newer_version_than_the_tested_ones_is_unknown(void **state)
{
	assert_int_equal(layout_with(*state, "_ZN2v88internal7Version6major_E", 14), 0);
	assert_int_equal(layout_with(*state, "_ZN2v88internal7Version6major_E", 15), -ENOTSUP);
}

static void an_offset_out_of_all_bounds_is_an_unknown_version(void **state)
{
	assert_int_equal(layout_with(*state, "off_fp_function", (uint32_t)-4096), -ENOTSUP);
	assert_int_equal(layout_with(*state, "off_fp_function", 16), -ENOTSUP);
	assert_int_equal(layout_with(*state, "class_Script__name__Object", 1 << 20), -ENOTSUP);
}

static void a_constant_that_is_missing_is_an_unknown_version(void **state)
{
	struct rig *r = *state;
	struct remote remote = { .mem = r->fd, .left = 4 << 20 };
	uint64_t symbols[RUNTIME_SYMBOLS] = { 0 };

	for (size_t i = 0; v8_symbols[i]; i++)
		symbols[i] = strstr(v8_symbols[i], "SCRIPT_TYPE") ? 0 : fake__symbol(r->fd, i);
	assert_int_equal(v8__read_layout(&remote, symbols, &r->layout), -ENOTSUP);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

static uint32_t line_at(const struct code_blob *b, uint64_t pc)
{
	uint32_t scope = code_blob__scope(b, pc + 1, false);

	return scope == CODE_NOWHERE ? 0 : b->scopes[scope].line;
}

static void bytecode_has_a_function_with_lines(void **state)
{
	struct rig *r = *state;
	const struct code_blob *b = r->blobs[2];
	uint64_t at = FAKE_BYTECODE + FAKE_DATA;

	assert_int_equal(b->kind, CODE_BYTECODE);
	assert_int_equal(b->script_cnt, 1);
	assert_string_equal(b->scripts[0].name, "outer");
	assert_string_equal(b->scripts[0].module, "/app/main.mjs");
	assert_int_equal(line_at(b, at), 2);
	assert_int_equal(line_at(b, at + 2), 2);
	assert_int_equal(line_at(b, at + 3), 3);
	assert_int_equal(line_at(b, at + 6), 4);
	assert_int_equal(b->scopes[2].line_in, 3);
}

/* Both versions compiled the same function; the code of the new one is longer. */
static void flags_follow_distances_from_v8_14_on(void **state)
{
	static const uint8_t old[] = { 1, 0x38, 2, 0x2c, 3, 0x18, 10, 0x38 };
	static const uint8_t new[] = { 2, 0x38, 7, 0x2c, 6, 0x18, 27, 0x38 };
	struct v8_positions before = { .numbers = { old, old + sizeof(old), false } };
	struct v8_positions now = { .numbers = { new, new + sizeof(new), false },
				    .has_flags = true };
	static const int64_t offs[][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 7, 8 } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(v8_positions__next(&before) && v8_positions__next(&now));
		assert_int_equal(before.off, offs[i][0]);
		assert_int_equal(now.off, offs[i][1]);
		assert_int_equal(before.raw, now.raw);
	}
}

static void a_function_without_a_name_is_anonymous(void **state)
{
	struct rig *r = *state;
	struct code_blob *b;

	fake__word(r->fd, FAKE_SCOPE + 48, fake__string(r->fd, 9, ""));
	b = read_again(r, &parts.wanted[2], 0);
	assert_string_equal(b->scripts[0].name, "(anonymous)");
	code_blob__free(b);
	fake__word(r->fd, FAKE_SCOPE + 64, fake__string(r->fd, 10, "exports.run"));
	b = read_again(r, &parts.wanted[2], 0);
	assert_string_equal(b->scripts[0].name, "exports.run");
	code_blob__free(b);
}

static void a_name_may_be_made_of_others(void **state)
{
	struct rig *r = *state;
	uint64_t at = FAKE_STRINGS + 20 * 256, thin = at + 256;
	struct code_blob *b;

	FAKE_OBJECT(r->fd, at, FAKE_TYPE_CONS, 0, fake__string(r->fd, 12, "App."), OBJECT(thin));
	fake__u32(r->fd, at + 12, 7);
	FAKE_OBJECT(r->fd, thin, FAKE_TYPE_THIN, 0, fake__string(r->fd, 13, "r\xfcn"));
	fake__u32(r->fd, thin + 12, 3);
	fake__word(r->fd, FAKE_SCOPE + 48, OBJECT(at));
	b = read_again(r, &parts.wanted[2], 0);
	assert_string_equal(b->scripts[0].name, "App.r\xc3\xbcn");
	code_blob__free(b);
}

static void a_string_that_contains_itself_is_no_name(void **state)
{
	struct rig *r = *state;
	uint64_t at = FAKE_STRINGS + 20 * 256;

	FAKE_OBJECT(r->fd, at, FAKE_TYPE_CONS, 0, OBJECT(at), OBJECT(at));
	fake__u32(r->fd, at + 12, 100);
	fake__word(r->fd, FAKE_SCOPE + 48, OBJECT(at));
	code_blob__free(read_again(r, &parts.wanted[2], -EINVAL));
}

static void a_function_that_moved_is_followed(void **state)
{
	struct rig *r = *state;
	struct code_wanted w = parts.wanted[2];
	struct code_blob *b;

	w.hint = OBJECT(FAKE_STRINGS + 0x800);
	fake__word(r->fd, FAKE_STRINGS + 0x800, FAKE_FUNCTION); /* in the place of its map */
	b = read_again(r, &w, 0);
	assert_string_equal(b->scripts[0].name, "outer");
	code_blob__free(b);
}

static void another_function_in_its_place_is_not_named(void **state)
{
	struct rig *r = *state;
	struct code_wanted w = parts.wanted[2];
	struct code_blob *b;

	fake__word(r->fd, FAKE_FUNCTION + 32, OBJECT(FAKE_INNER));
	b = read_again(r, &w, 0);
	assert_int_equal(b->kind, CODE_BYTECODE);
	assert_int_equal(b->script_cnt, 0);
	code_blob__free(b);
	w.other_hint = OBJECT(FAKE_FEEDBACK); /* that does not move */
	b = read_again(r, &w, 0);
	assert_string_equal(b->scripts[0].name, "outer");
	code_blob__free(b);
}

static void what_was_read_is_found_to_be_the_same(void **state)
{
	struct rig *r = *state;
	struct code_wanted w = parts.wanted[2];

	w.header = r->blobs[2]->header;
	w.id = r->blobs[2]->id;
	code_blob__free(read_again(r, &w, -EALREADY));
	fake__word(r->fd, FAKE_OUTER + 8, OBJECT(FAKE_STRINGS)); /* its bytecode is gone */
	w.hint = OBJECT(FAKE_STRINGS);
	code_blob__free(read_again(r, &w, 0));
}

static void a_length_out_of_all_bounds_is_refused(void **state)
{
	struct rig *r = *state;

	fake__word(r->fd, FAKE_BYTECODE + 8, SMI(INT32_MAX));
	code_blob__free(read_again(r, &parts.wanted[2], -ENOENT));
	fake__word(r->fd, FAKE_BYTECODE + 8, SMI(-1));
	code_blob__free(read_again(r, &parts.wanted[2], -ENOENT));
}

/* ---- code ---------------------------------------------------------------------------------------
 */

static void any_address_leads_to_its_code(void **state)
{
	struct rig *r = *state;

	for (uint64_t off = 0; off < FAKE_CODE_SZ; off += 0x77) {
		struct code_blob *b = read_again(r, &(struct code_wanted){ .pc = JIT + off }, 0);

		assert_int_equal(b->start, JIT);
		assert_int_equal(b->end, JIT + FAKE_CODE_SZ);
		code_blob__free(b);
	}
	code_blob__free(read_again(r, &(struct code_wanted){ .pc = JIT + FAKE_CODE_SZ }, -ENOENT));
	code_blob__free(read_again(r, &(struct code_wanted){ .pc = 0x30000 }, -ENOENT));
}

static void code_of_another_object_is_refused(void **state)
{
	struct rig *r = *state;

	fake__word(r->fd, FAKE_CODE + 32, OBJECT(FAKE_BASELINE));
	code_blob__free(read_again(r, &parts.wanted[0], -ENOENT));
}

static void optimised_code_says_what_is_inlined(void **state)
{
	struct rig *r = *state;
	const struct code_blob *b = r->blobs[0];
	uint32_t outer = code_blob__scope(b, JIT + 0x18, false),
		 inner = code_blob__scope(b, JIT + 0x30, false);

	assert_int_equal(b->kind, CODE_COMPILED);
	assert_int_equal(code_blob__scope(b, JIT + FAKE_CODE_SZ + 1, false), CODE_NOWHERE);
	assert_int_equal(b->scopes[outer].line, 3);
	assert_int_equal(b->scopes[outer].caller, CODE_NOWHERE);
	assert_int_equal(b->scopes[inner].line, 1);
	assert_string_equal(b->scripts[b->scopes[inner].function].name, "(anonymous)");
	assert_int_equal(b->scopes[b->scopes[inner].caller].line, 4);
	assert_string_equal(b->scripts[b->scopes[b->scopes[inner].caller].function].name, "outer");
}

static void an_inlined_call_in_itself_is_nowhere(void **state)
{
	struct rig *r = *state;
	struct code_blob *b;

	fake__word(r->fd, FAKE_INLINED + 16, INLINED(39, 0));
	b = read_again(r, &parts.wanted[0], 0);
	assert_int_equal(code_blob__scope(b, JIT + 0x30, false), CODE_NOWHERE);
	code_blob__free(b);
}

static void baseline_code_says_its_bytecode(void **state)
{
	struct rig *r = *state;
	const struct code_blob *b = r->blobs[1];

	assert_int_equal(b->kind, CODE_BASELINE);
	assert_int_equal(code_blob__scope(b, BASE + 0x10, false), 0);
	assert_int_equal(code_blob__scope(b, BASE + 0x20, false), 0);
	assert_int_equal(code_blob__scope(b, BASE + 0x21, false), 1);
	assert_int_equal(code_blob__scope(b, BASE + 0x30, false), 2);
	assert_int_equal(code_blob__scope(b, BASE + 0x50, false), 3);
	assert_int_equal(code_blob__scope(b, BASE + 0x51, false), CODE_NOWHERE);
}

/* ---- frames -------------------------------------------------------------------------------------
 */

struct rig_walk {
	struct code_walk walk;
	const struct rig *rig;
};

static const struct code_blob *find(struct code_walk *walk, uint64_t pc)
{
	const struct rig *r = ((struct rig_walk *)walk)->rig;

	for (size_t i = 0; i < 3; i++)
		if (pc >= r->blobs[i]->start && pc < r->blobs[i]->end)
			return r->blobs[i];
	return NULL;
}

static const struct code_blob *find_function(struct code_walk *walk, const struct code_wanted *w)
{
	return find(walk, w->pc);
}

static enum managed_result step(const struct rig *r, struct managed_frame *f)
{
	struct mapping maps[] = { { .start = FILED, .end = FILED + 0x1000, .kind = MAPPING_FILE },
				  { .start = 0x40000, .end = 0x48000, .kind = MAPPING_ANON } };
	const struct process p = { .maps = maps, .map_cnt = 2 };
	const struct snapshot s = { STACK, sizeof(r->stack), (const uint8_t *)r->stack, NULL };
	const struct sample sample = { .stack = s };
	const struct managed_query q = { &p, &sample, &s, false };
	struct rig_walk w = { { &q, find, find_function, &r->layout, false }, r };

	return v8__step(&w.walk, f);
}

#define AT(word) (STACK + 8 * (word))

/* A frame with its pointer at AT(fp): its caller's, the return address, the context. */
static void put_frame(struct rig *r, size_t fp, uint64_t caller, uint64_t context)
{
	r->stack[fp] = AT(fp + 20);
	r->stack[fp + 1] = caller;
	r->stack[fp - 1] = context;
}

static void a_caller_is_left_by_its_frame_pointer(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JIT + 0x40, .sp = AT(2), .fp = AT(10), .caller = true };

	put_frame(r, 10, JIT + 0x50, OBJECT(FAKE_SCOPE));
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_int_equal(f.pc, JIT + 0x50);
	assert_int_equal(f.sp, AT(12));
	assert_int_equal(f.fp, AT(30));
	assert_false(f.interprets);
}

static void a_leaf_without_a_frame_returns_by_the_stack(void **state)
{
	struct rig *r = *state;
	const uint64_t bare[] = { JIT, JIT + 2, JIT + 0x204 }, saved[] = { JIT + 3, JIT + 0x203 };

	put_frame(r, 10, FILED + 8, OBJECT(FAKE_SCOPE));
	r->stack[2] = JIT + 0x50;
	for (size_t i = 0; i < 3; i++) {
		struct managed_frame f = { .pc = bare[i], .sp = AT(2), .fp = AT(10) };

		assert_int_equal(step(r, &f), MANAGED_STEPPED);
		assert_int_equal(f.pc, JIT + 0x50);
		assert_int_equal(f.sp, AT(3));
		assert_int_equal(f.fp, AT(10));
	}
	for (size_t i = 0; i < 2; i++) {
		struct managed_frame f = { .pc = saved[i], .sp = AT(1), .fp = AT(5) };

		r->stack[1] = AT(10);
		assert_int_equal(step(r, &f), MANAGED_STEPPED);
		assert_int_equal(f.pc, JIT + 0x50);
		assert_int_equal(f.fp, AT(10));
	}
}

static void a_frame_of_the_interpreter_says_its_function(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = FILED + 0x40, .sp = AT(2), .fp = AT(10), .caller = true };
	const struct snapshot s = { STACK, sizeof(r->stack), (const uint8_t *)r->stack, NULL };
	struct code_wanted w;

	put_frame(r, 10, JIT + 0x50, OBJECT(FAKE_SCOPE));
	r->stack[8] = OBJECT(FAKE_FUNCTION);
	r->stack[6] = OBJECT(FAKE_BYTECODE);
	r->stack[5] = SMI(FAKE_DATA - 1 + 6);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_true(f.interprets);
	assert_int_equal(f.own_sp, AT(10));
	assert_true(v8__bytecode(&r->layout, &s, AT(10), &w));
	assert_int_equal(w.pc, parts.wanted[2].pc);
	assert_int_equal(w.hint, parts.wanted[2].hint);
	assert_int_equal(v8__place(&r->layout, &s, &(struct frame){ .sp = AT(10) }, NULL),
			 FAKE_BYTECODE + FAKE_DATA + 6);
}

static void a_frame_of_baseline_code_says_its_function(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = BASE + 0x28, .sp = AT(2), .fp = AT(10), .caller = true };
	const struct snapshot s = { STACK, sizeof(r->stack), (const uint8_t *)r->stack, NULL };
	const struct frame frame = { .pc = BASE + 0x28, .sp = AT(10), .flags = FRAME_CALLER };

	put_frame(r, 10, JIT + 0x50, OBJECT(FAKE_SCOPE));
	r->stack[8] = OBJECT(FAKE_FUNCTION);
	r->stack[6] = OBJECT(FAKE_BYTECODE);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_true(f.interprets);
	assert_int_equal(v8__place(&r->layout, &s, &frame, r->blobs[1]),
			 FAKE_BYTECODE + FAKE_DATA + 1);
}

static void a_typed_frame_is_hidden(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = FILED + 0x40, .sp = AT(2), .fp = AT(10), .caller = true };

	put_frame(r, 10, FILED + 8, 2 * 17);
	assert_int_equal(step(r, &f), MANAGED_STEPPED);
	assert_true(f.hidden);
}

static void a_frame_that_is_not_v8s_is_left_to_others(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = FILED + 0x40, .sp = AT(2), .fp = AT(10), .caller = true };

	put_frame(r, 10, FILED + 8, AT(50)); /* no value */
	assert_int_equal(step(r, &f), MANAGED_NONE);
	f.fp = 3;
	assert_int_equal(step(r, &f), MANAGED_NONE);
	f.caller = false;
	f.fp = AT(10);
	assert_int_equal(step(r, &f), MANAGED_NONE);
}

static void a_frame_pointer_below_the_stack_pointer_leads_nowhere(void **state)
{
	struct rig *r = *state;
	struct managed_frame f = { .pc = JIT + 0x40, .sp = AT(12), .fp = AT(10), .caller = true };

	put_frame(r, 10, JIT + 0x50, OBJECT(FAKE_SCOPE));
	assert_int_equal(step(r, &f), MANAGED_LOST);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig__free)

RUN_TESTS(TEST(constants_say_where_fields_are),
	  TEST(another_notation_of_values_is_an_unknown_version),
	  TEST(a_newer_version_than_the_tested_ones_is_unknown),
	  TEST(an_offset_out_of_all_bounds_is_an_unknown_version),
	  TEST(a_constant_that_is_missing_is_an_unknown_version),
	  TEST(bytecode_has_a_function_with_lines), TEST(flags_follow_distances_from_v8_14_on),
	  TEST(a_function_without_a_name_is_anonymous), TEST(a_name_may_be_made_of_others),
	  TEST(a_string_that_contains_itself_is_no_name), TEST(a_function_that_moved_is_followed),
	  TEST(another_function_in_its_place_is_not_named),
	  TEST(what_was_read_is_found_to_be_the_same), TEST(a_length_out_of_all_bounds_is_refused),
	  TEST(any_address_leads_to_its_code), TEST(code_of_another_object_is_refused),
	  TEST(optimised_code_says_what_is_inlined), TEST(an_inlined_call_in_itself_is_nowhere),
	  TEST(baseline_code_says_its_bytecode), TEST(a_caller_is_left_by_its_frame_pointer),
	  TEST(a_leaf_without_a_frame_returns_by_the_stack),
	  TEST(a_frame_of_the_interpreter_says_its_function),
	  TEST(a_frame_of_baseline_code_says_its_function), TEST(a_typed_frame_is_hidden),
	  TEST(a_frame_that_is_not_v8s_is_left_to_others),
	  TEST(a_frame_pointer_below_the_stack_pointer_leads_nowhere))
