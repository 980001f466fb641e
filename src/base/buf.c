// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf__free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf__reset(struct buf *b)
{
	b->sz = 0;
	b->err = 0;
}

static int buf_grow(struct buf *b, size_t sz)
{
	size_t cap = b->cap ? b->cap : 64;
	uint8_t *data;

	if (sz > SIZE_MAX / 2 - b->sz)
		return -ENOMEM;
	while (cap < b->sz + sz)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

uint8_t *buf__grow(struct buf *b, size_t sz)
{
	if (!b->err)
		b->err = buf_grow(b, sz);
	return b->err ? NULL : buf__extend(b, sz);
}

void buf__append(struct buf *b, const void *data, size_t sz)
{
	uint8_t *at = sz ? buf__extend(b, sz) : NULL;

	if (at)
		memcpy(at, data, sz);
}

void buf__str(struct buf *b, const char *text)
{
	buf__append(b, text, strlen(text));
}

void buf__printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int sz;

	va_start(ap, fmt);
	sz = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (sz < 0) {
		b->err = -ENOMEM;
		return;
	}
	buf__append(b, text, (size_t)sz);
	free(text);
}

void buf__u8(struct buf *b, uint8_t v)
{
	buf__append(b, &v, 1);
}

void buf__u32(struct buf *b, uint32_t v)
{
	uint8_t le[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

	buf__append(b, le, sizeof(le));
}

void buf__u64(struct buf *b, uint64_t v)
{
	buf__u32(b, (uint32_t)v);
	buf__u32(b, (uint32_t)(v >> 32));
}

void buf__uleb(struct buf *b, uint64_t v)
{
	uint8_t out[10];
	size_t n = 0;

	do {
		out[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	buf__append(b, out, n);
}
