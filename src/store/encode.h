/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parquet's encodings of numbers (parquet-format, Encodings.md). Errors stick in the buf. */
#ifndef STORE_ENCODE_H
#define STORE_ENCODE_H

#include "base/buf.h"

/* Bits that hold v; 0 for 0. */
static inline unsigned encode__bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* A signed number as a varint whose small ones, of either sign, are short. */
void encode__zigzag(struct buf *, int64_t);

/* RLE/bit-packed hybrid of values below 2^width, width 1…32, without length prefix. */
void encode__hybrid(struct buf *, const uint32_t *values, size_t cnt, unsigned width);

/* DELTA_BINARY_PACKED; bits is 32 (values sign-extended) or 64. */
void encode__delta(struct buf *, const uint64_t *values, size_t cnt, unsigned bits);
/* What encode__delta() would append, at most: the length of the header is rounded up. */
size_t encode__delta_sz(const uint64_t *values, size_t cnt, unsigned bits);

/* PLAIN: little-endian, bits / 8 bytes each. */
void encode__plain(struct buf *, const uint64_t *values, size_t cnt, unsigned bits);

#endif
