/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parquet's encodings of numbers (parquet-format, Encodings.md). Errors are sticky in the buf. */
#ifndef STORE_ENCODE_H
#define STORE_ENCODE_H

#include "base/buf.h"

/* Returns the number of bits of v; 0 for 0. */
static inline unsigned encode__bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Appends a signed number as a varint in which small numbers of both signs are short. */
void encode__zigzag(struct buf *, int64_t);

/* RLE/bit-packed hybrid of values below 2^width, width 1…32, without a length prefix. */
void encode__hybrid(struct buf *, const uint32_t *values, size_t cnt, unsigned width);

/* DELTA_BINARY_PACKED; bits is 32 (values sign-extended) or 64. */
void encode__delta(struct buf *, const uint64_t *values, size_t cnt, unsigned bits);
/* Returns an upper limit of the bytes that encode__delta() would append: the size of the header is
 * rounded up. */
size_t encode__delta_sz(const uint64_t *values, size_t cnt, unsigned bits);

/* PLAIN: little-endian, bits / 8 bytes each. */
void encode__plain(struct buf *, const uint64_t *values, size_t cnt, unsigned bits);

#endif
