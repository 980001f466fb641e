// SPDX-License-Identifier: GPL-2.0-or-later
/* HotSpot: its tables, its code cache and its methods. */
#include "lib/test.h"

#include <errno.h>

#include "lib/hotspot_scene.h"

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
	  TEST(scopes_that_call_one_another_are_refused), TEST(places_out_of_order_are_refused))
