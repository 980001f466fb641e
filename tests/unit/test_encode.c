// SPDX-License-Identifier: GPL-2.0-or-later
/* The encodings and Thrift, byte by byte. The bytes were derived by hand from parquet-format's
 * Encodings.md and thrift-compact-protocol.md. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "store/encode.h"
#include "store/thrift.h"

static void assert_hex(const struct buf *b, const char *hex)
{
	struct buf want = { 0 };
	unsigned byte;
	int n;

	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		buf__u8(&want, (uint8_t)byte);
	assert_int_equal(buf__err(b), 0);
	assert_int_equal(b->sz, want.sz);
	assert_memory_equal(b->data, want.data, want.sz);
	buf__free(&want);
}

#define CNT(a) (sizeof(a) / sizeof(*(a)))

static void assert_hybrid(const uint32_t *values, size_t cnt, unsigned width, const char *hex)
{
	struct buf b = { 0 };

	encode__hybrid(&b, values, cnt, width);
	assert_hex(&b, hex);
	buf__free(&b);
}

static void hybrid_runs_are_encoded(void **state)
{
	static const uint32_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint32_t eight[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static const uint32_t levels[] = { 2, 2, 1, 0 };
	static const uint32_t large[] = { 0x10203, 0x10203, 0x10203, 0x10203,
					  0x10203, 0x10203, 0x10203, 0x10203 };

	(void)state;
	assert_hybrid(ones, CNT(ones), 1, "14 01");
	assert_hybrid(eight, CNT(eight), 3, "03 88 c6 fa");
	assert_hybrid(levels, CNT(levels), 2, "03 1a 00");
	assert_hybrid(large, CNT(large), 17, "10 03 02 01");
	assert_hybrid(ones, 0, 1, "");
}

/* Decodes what encode__hybrid() wrote. */
static void decode_hybrid(const struct buf *b, uint32_t *out, size_t cnt, unsigned width)
{
	struct cursor c = cursor__on(b->data, b->sz);
	size_t done = 0;

	while (done < cnt) {
		uint64_t head = cursor__uleb(&c);
		const uint8_t *at =
			cursor__bytes(&c, head & 1 ? (head >> 1) * width : (width + 7) / 8);

		assert_non_null(at);
		for (uint64_t i = 0; i < (head & 1 ? (head >> 1) * 8 : head >> 1); i++) {
			uint32_t v = 0;

			for (unsigned bit = 0; bit < width; bit++) {
				uint64_t from = head & 1 ? i * width + bit : bit;

				v |= (uint32_t)(at[from / 8] >> from % 8 & 1) << bit;
			}
			if (done < cnt)
				out[done++] = v;
		}
	}
	assert_int_equal(cursor__left(&c), 0);
}

static void hybrid_survives_a_round_trip(void **state)
{
	uint32_t values[1000], back[1000];
	unsigned seed = 1;

	(void)state;
	for (unsigned width = 1; width <= 32; width++) {
		struct buf b = { 0 };
		uint32_t v = 0;

		for (size_t i = 0; i < CNT(values); i++) {
			if (rand_r(&seed) % (width * 2) == 0)
				v = ((uint32_t)rand_r(&seed) * 2654435761u) >> (32 - width);
			values[i] = v;
		}
		encode__hybrid(&b, values, CNT(values), width);
		decode_hybrid(&b, back, CNT(back), width);
		assert_memory_equal(values, back, sizeof(values));
		buf__free(&b);
	}
}

static void assert_delta(const uint64_t *values, size_t cnt, unsigned bits, const char *hex)
{
	struct buf b = { 0 };

	encode__delta(&b, values, cnt, bits);
	assert_hex(&b, hex);
	assert_true(b.sz <= encode__delta_sz(values, cnt, bits));
	buf__free(&b);
}

static void deltas_are_encoded(void **state)
{
	static const uint64_t even[] = { 10, 20, 30 };
	static const uint64_t dip[] = { 7, 5, 3, 1, 2, 3, 4, 5 };
	static const uint64_t extremes[] = { (uint64_t)INT64_MIN, INT64_MAX };
	static const uint64_t narrow[] = { (uint64_t)(int64_t)INT32_MIN, INT32_MAX };

	(void)state;
	assert_delta(even, 3, 64, "80 01 04 03 14 14 00 00 00 00");
	assert_delta(dip, 8, 64, "80 01 04 08 0e 03 02 00 00 00 c0 3f 00 00 00 00 00 00");
	assert_delta(even, 0, 64, "80 01 04 00 00");
	assert_delta(even, 1, 64, "80 01 04 01 14");
	assert_delta(extremes, 2, 64, "80 01 04 02 ff ff ff ff ff ff ff ff ff 01 01 00 00 00 00");
	/* wraps at 32 bits: a delta of -1 */
	assert_delta(narrow, 2, 32, "80 01 04 02 ff ff ff ff 0f 01 00 00 00 00");
}

static uint64_t bits_at(const uint8_t *at, uint64_t from, unsigned width)
{
	uint64_t v = 0;

	for (unsigned bit = 0; bit < width; bit++, from++)
		v |= (uint64_t)(at[from / 8] >> from % 8 & 1) << bit;
	return v;
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static void decode_delta(const struct buf *b, uint64_t *out, size_t cnt)
{
	struct cursor c = cursor__on(b->data, b->sz);
	size_t done = 1;

	assert_int_equal(cursor__uleb(&c), 128);
	assert_int_equal(cursor__uleb(&c), 4);
	assert_int_equal(cursor__uleb(&c), cnt);
	out[0] = (uint64_t)unzigzag(cursor__uleb(&c));
	while (done < cnt) {
		uint64_t min = (uint64_t)unzigzag(cursor__uleb(&c));
		const uint8_t *widths = cursor__bytes(&c, 4);

		for (int m = 0; m < 4 && done < cnt; m++) {
			const uint8_t *at = cursor__bytes(&c, 4 * (size_t)widths[m]);

			assert_non_null(at);
			for (uint64_t i = 0; i < 32 && done < cnt; i++, done++)
				out[done] =
					out[done - 1] + min + bits_at(at, i * widths[m], widths[m]);
		}
	}
	assert_int_equal(cursor__left(&c), 0);
	assert_false(c.err);
}

static void deltas_survive_a_round_trip(void **state)
{
	uint64_t values[700], back[700];
	unsigned seed = 1;

	(void)state;
	for (unsigned width = 1; width <= 64; width++) {
		struct buf b = { 0 };

		for (size_t i = 0; i < CNT(values); i++) {
			uint64_t r = (uint64_t)rand_r(&seed) << 40 ^ (uint64_t)rand_r(&seed) << 20 ^
				     (uint64_t)rand_r(&seed);

			values[i] = r >> (64 - width);
		}
		encode__delta(&b, values, CNT(values), 64);
		assert_true(b.sz <= encode__delta_sz(values, CNT(values), 64));
		decode_delta(&b, back, CNT(back));
		assert_memory_equal(values, back, sizeof(values));
		buf__free(&b);
	}
}

static void plain_values_are_encoded(void **state)
{
	static const uint64_t values[] = { 1, (uint64_t)-2 };
	struct buf b = { 0 };

	(void)state;
	encode__plain(&b, values, 2, 32);
	assert_hex(&b, "01 00 00 00 fe ff ff ff");
	buf__reset(&b);
	encode__plain(&b, values, 2, 64);
	assert_hex(&b, "01 00 00 00 00 00 00 00 fe ff ff ff ff ff ff ff");
	buf__free(&b);
}

static void thrift_fields_are_encoded(void **state)
{
	struct buf b = { 0 };
	struct thrift t = thrift__on(&b);

	(void)state;
	thrift__i32(&t, 1, 3);
	thrift__i64(&t, 3, 4);
	thrift__bool(&t, 4, true);
	thrift__bool(&t, 5, false);
	thrift__i8(&t, 6, -1);
	thrift__i16(&t, 7, -1);
	thrift__string(&t, 8, "ab");
	thrift__struct(&t, 10);
	thrift__empty(&t, 1);
	thrift__end(&t);
	thrift__i32(&t, 11, -1435430756);
	thrift__end(&t);
	assert_hex(&b, "15 06 26 08 11 12 13 ff 14 01 18 02 61 62 2c 1c 00 00"
		       "15 c7 bd f7 d8 0a 00");
	buf__free(&b);
}

static void thrift_lists_are_encoded(void **state)
{
	struct buf b = { 0 };
	struct thrift t = thrift__on(&b);

	(void)state;
	thrift__list(&t, 1, THRIFT_I32, 2);
	thrift__item_int(&t, 3);
	thrift__item_int(&t, -1);
	thrift__list(&t, 2, THRIFT_TRUE, 2);
	thrift__item_bool(&t, true);
	thrift__item_bool(&t, false);
	thrift__list(&t, 3, THRIFT_STRUCT, 1);
	thrift__element(&t);
	thrift__i32(&t, 1, 1);
	thrift__end(&t);
	thrift__list(&t, 4, THRIFT_BINARY, 15);
	for (int i = 0; i < 15; i++)
		thrift__item_binary(&t, NULL, 0);
	thrift__end(&t);
	assert_hex(&b, "19 25 06 01  19 21 01 02  19 1c 15 02 00"
		       "19 f8 0f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  00");
	buf__free(&b);
}

RUN_TESTS(cmocka_unit_test(hybrid_runs_are_encoded), cmocka_unit_test(hybrid_survives_a_round_trip),
	  cmocka_unit_test(deltas_are_encoded), cmocka_unit_test(deltas_survive_a_round_trip),
	  cmocka_unit_test(plain_values_are_encoded), cmocka_unit_test(thrift_fields_are_encoded),
	  cmocka_unit_test(thrift_lists_are_encoded))
