// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/perfinflate.h"

#include <errno.h>
#include <string.h>

#define PIECE_SZ (128u << 10)

void perf_inflate__free(struct perf_inflate *z)
{
	ZSTD_freeDStream(z->stream);
	buf__free(&z->plain);
}

int perf_inflate__begin(struct perf_inflate *z, const uint8_t *data, size_t sz)
{
	if (!z->stream)
		z->stream = ZSTD_createDStream();
	if (!z->stream)
		return -ENOMEM;
	z->in = (ZSTD_inBuffer){ data, sz, 0 };
	z->busy = true;
	return 0;
}

/* Returns true for records with a payload outside of them, and for records that contain others. */
static bool perfinflate_is_odd(uint32_t type)
{
	return type == PERF_TRACING_DATA || type == PERF_AUXTRACE || type == PERF_COMPRESSED ||
	       type == PERF_COMPRESSED2;
}

static bool perfinflate_take(struct perf_inflate *z, struct raw *raw, const char **wrong)
{
	size_t left = z->plain.sz - z->at;
	uint16_t sz;

	if (left < 8)
		return false;
	*raw = (struct raw){ .data = z->plain.data + z->at, .brief = true };
	memcpy(&sz, raw->data + 6, sizeof(sz));
	raw->sz = sz;
	if (sz < 8 || perfinflate_is_odd(raw__type(raw)))
		*wrong = "a damaged record in compressed data";
	raw->round = raw__type(raw) == PERF_FINISHED_ROUND;
	if (*wrong || sz > left)
		return false;
	z->at += sz;
	return true;
}

/* Drops the returned records and decompresses up to PIECE_SZ bytes. Returns false if no data are
 * left, or on error. */
static bool perfinflate_unpack(struct perf_inflate *z, const char **wrong)
{
	size_t left = z->plain.sz - z->at, rc;
	ZSTD_outBuffer out = { .size = PIECE_SZ };

	if (left)
		memmove(z->plain.data, z->plain.data + z->at, left);
	z->at = 0;
	z->plain.sz = left;
	out.dst = buf__extend(&z->plain, PIECE_SZ);
	if (!out.dst) {
		*wrong = "out of memory";
		return false;
	}
	rc = ZSTD_decompressStream(z->stream, &out, &z->in);
	z->plain.sz = left + out.pos;
	if (ZSTD_isError(rc))
		*wrong = "compressed data are damaged";
	return !*wrong && (out.pos > 0 || z->in.pos < z->in.size);
}

bool perf_inflate__next(struct perf_inflate *z, struct raw *raw, const char **wrong)
{
	if (!z->busy)
		return false;
	do {
		if (perfinflate_take(z, raw, wrong))
			return true;
	} while (!*wrong && perfinflate_unpack(z, wrong));
	z->busy = false;
	return false;
}

bool perf_inflate__left(const struct perf_inflate *z)
{
	return z->plain.sz > z->at;
}
