// SPDX-License-Identifier: GPL-2.0-or-later
/* src/base/buf.h and src/base/cursor.h: a cursor reads what a buf has. */
#include "lib/test.h"

#include "base/buf.h"
#include "base/cursor.h"

static void values_survive_a_round_trip(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX };
	struct buf b = { 0 };
	struct cursor c;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		buf__uleb(&b, values[i]);
		buf__u64(&b, values[i]);
	}
	buf__append(&b, "hi", 3);
	assert_int_equal(buf__err(&b), 0);
	c = cursor__on(b.data, b.sz);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		assert_int_equal(cursor__uleb(&c), values[i]);
		assert_int_equal(cursor__u64(&c), values[i]);
	}
	assert_string_equal(cursor__str(&c), "hi");
	assert_false(c.err);
	assert_int_equal(cursor__left(&c), 0);
	buf__free(&b);
}

static void texts_are_appended(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf__str(&b, "a");
	buf__str(&b, "");
	buf__printf(&b, "%s%d", "bc", -4);
	assert_int_equal(b.sz, 5);
	assert_memory_equal(b.data, "abc-4", 5);
	buf__free(&b);
}

static void errors_stick(void **state)
{
	static const uint8_t endless[] = { 0x80, 0x80, 0x80 };
	struct cursor c = cursor__on(endless, sizeof(endless));

	(void)state;
	assert_int_equal(cursor__uleb(&c), 0);
	assert_true(c.err);
	assert_null(cursor__bytes(&c, 0));
	c = cursor__on("ab", 2);
	assert_null(cursor__str(&c));
	assert_int_equal(cursor__u8(&c), 0);
	assert_true(c.err);
}

static void sleb_is_decoded(void **state)
{
	static const uint8_t bytes[] = { 0x7f, 0x80, 0x7f, 0x3f, 0xc0, 0x00 };
	struct cursor c = cursor__on(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor__sleb(&c), -1);
	assert_int_equal(cursor__sleb(&c), -128);
	assert_int_equal(cursor__sleb(&c), 63);
	assert_int_equal(cursor__sleb(&c), 64);
	assert_false(c.err);
}

RUN_TESTS(cmocka_unit_test(values_survive_a_round_trip), cmocka_unit_test(texts_are_appended),
	  cmocka_unit_test(errors_stick), cmocka_unit_test(sleb_is_decoded))
