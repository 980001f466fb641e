// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/encode.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

void encode__zigzag(struct buf *out, int64_t v)
{
	buf__uleb(out, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

/* Packs cnt (a multiple of 8) values of width bits, least significant bit first. */
static void encode_pack(struct buf *out, const uint64_t *values, size_t cnt, unsigned width)
{
	uint8_t *at = buf__extend(out, cnt * width / 8);
	uint64_t acc = 0, le;
	unsigned have = 0;

	for (size_t i = 0; at && i < cnt; i++) {
		acc |= values[i] << have;
		if (have + width < 64) {
			have += width;
			continue;
		}
		le = htole64(acc);
		memcpy(at, &le, 8);
		at += 8;
		acc = have ? values[i] >> (64 - have) : 0;
		have = have + width - 64;
	}
	le = htole64(acc);
	if (at && have)
		memcpy(at, &le, have / 8);
}

/* ---- RLE/bit-packed hybrid ------------------------------------------------------------------ */

#define GROUP 8 /* values per bit-packed group */

/* Appends a bit-packed run, padded with zeros to a whole group; only the last run of a page may
 * need padding. */
static void encode_literals(struct buf *out, const uint32_t *values, size_t cnt, unsigned width)
{
	size_t groups = (cnt + GROUP - 1) / GROUP;

	if (!cnt)
		return;
	buf__uleb(out, groups << 1 | 1);
	while (cnt) {
		uint64_t wide[8 * GROUP] = { 0 };
		size_t n = cnt < 8 * GROUP ? cnt : 8 * GROUP;

		for (size_t i = 0; i < n; i++)
			wide[i] = values[i];
		encode_pack(out, wide, (n + GROUP - 1) / GROUP * GROUP, width);
		values += n;
		cnt -= n;
	}
}

static void encode_repeated(struct buf *out, uint32_t value, size_t cnt, unsigned width)
{
	uint32_t le = htole32(value);

	buf__uleb(out, (uint64_t)cnt << 1);
	buf__append(out, &le, (width + 7) / 8);
}

static bool encode_is_group_of(const uint32_t *v, uint32_t value)
{
	uint32_t differs = 0;

	for (size_t i = 0; i < GROUP; i++)
		differs |= v[i] ^ value;
	return !differs;
}

/* Returns the number of equal values at the start, compared in whole groups as far as possible. */
static size_t encode_run_length(const uint32_t *v, size_t cnt)
{
	size_t run = 0;

	while (run + GROUP <= cnt && encode_is_group_of(v + run, v[0]))
		run += GROUP;
	while (run < cnt && v[run] == v[0])
		run++;
	return run;
}

/* Searches runs only where groups begin, so that bit-packed values before a run are whole groups.
 */
void encode__hybrid(struct buf *out, const uint32_t *values, size_t cnt, unsigned width)
{
	size_t start = 0, i = 0; /* values from start to i will be bit-packed */

	while (i + GROUP <= cnt) {
		size_t run = GROUP;

		if (encode_is_group_of(values + i, values[i])) {
			run = encode_run_length(values + i, cnt - i);
			encode_literals(out, values + start, i - start, width);
			encode_repeated(out, values[i], run, width);
			start = i + run;
		}
		i += run;
	}
	encode_literals(out, values + start, cnt - start, width);
}

/* ---- DELTA_BINARY_PACKED -------------------------------------------------------------------- */

#define BLOCK	   128
#define MINI	   32
#define MINIBLOCKS (BLOCK / MINI)

struct encode_block {
	uint64_t over[BLOCK]; /* deltas minus the smallest; zeros after the last */
	int64_t min;
	unsigned widths[MINIBLOCKS];
	size_t minis; /* miniblocks with values */
};

static int64_t encode_wrap(uint64_t v, unsigned bits)
{
	return bits == 32 ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v;
}

/* Plans the block of the cnt (1…BLOCK) deltas from values[-1] on; arithmetic wraps at `bits`. */
static void encode_plan(struct encode_block *b, const uint64_t *values, size_t cnt, unsigned bits)
{
	uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;

	memset(b, 0, sizeof(*b));
	b->min = INT64_MAX;
	for (size_t i = 0; i < cnt; i++) {
		int64_t delta = encode_wrap(values[i] - values[(ptrdiff_t)i - 1], bits);

		b->over[i] = (uint64_t)delta;
		if (delta < b->min)
			b->min = delta;
	}
	b->minis = (cnt + MINI - 1) / MINI;
	for (size_t m = 0; m < b->minis; m++) {
		uint64_t any = 0;

		for (size_t i = m * MINI; i < cnt && i < (m + 1) * MINI; i++)
			any |= b->over[i] = (b->over[i] - (uint64_t)b->min) & mask;
		b->widths[m] = encode__bits(any);
	}
}

void encode__delta(struct buf *out, const uint64_t *values, size_t cnt, unsigned bits)
{
	buf__uleb(out, BLOCK);
	buf__uleb(out, MINIBLOCKS);
	buf__uleb(out, cnt);
	encode__zigzag(out, cnt ? encode_wrap(values[0], bits) : 0);
	for (size_t i = 1; i < cnt; i += BLOCK) {
		struct encode_block b;

		encode_plan(&b, values + i, cnt - i < BLOCK ? cnt - i : BLOCK, bits);
		encode__zigzag(out, b.min);
		for (size_t m = 0; m < MINIBLOCKS; m++)
			buf__u8(out, (uint8_t)b.widths[m]);
		for (size_t m = 0; m < b.minis; m++)
			encode_pack(out, b.over + m * MINI, MINI, b.widths[m]);
	}
}

size_t encode__delta_sz(const uint64_t *values, size_t cnt, unsigned bits)
{
	size_t sz = 4 * 10;

	for (size_t i = 1; i < cnt; i += BLOCK) {
		struct encode_block b;

		encode_plan(&b, values + i, cnt - i < BLOCK ? cnt - i : BLOCK, bits);
		sz += 10 + MINIBLOCKS;
		for (size_t m = 0; m < b.minis; m++)
			sz += MINI * b.widths[m] / 8;
	}
	return sz;
}

/* ---- PLAIN ---------------------------------------------------------------------------------- */

void encode__plain(struct buf *out, const uint64_t *values, size_t cnt, unsigned bits)
{
	size_t width = bits / 8;
	uint8_t *at = buf__extend(out, cnt * width);

	for (size_t i = 0; at && i < cnt; i++) {
		uint64_t le = htole64(values[i]);

		memcpy(at + i * width, &le, width);
	}
}
