/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader of outside bytes (little-endian). Errors stick: a read past the end gives
 * 0 and sets `err`, so that parsers chain reads and check once.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *pos, *end;
	bool err;
};

static inline struct cursor cursor__on(const void *data, size_t sz)
{
	return (struct cursor){ data, (const uint8_t *)data + sz, false };
}

static inline size_t cursor__left(const struct cursor *c)
{
	return (size_t)(c->end - c->pos);
}

/* NULL past the end */
static inline const void *cursor__bytes(struct cursor *c, size_t sz)
{
	const void *at = c->pos;

	if (c->err || sz > cursor__left(c)) {
		c->err = true;
		return NULL;
	}
	c->pos += sz;
	return at;
}

static inline uint8_t cursor__u8(struct cursor *c)
{
	const uint8_t *at = cursor__bytes(c, 1);

	return at ? *at : 0;
}

uint16_t cursor__u16(struct cursor *);
uint32_t cursor__u32(struct cursor *);
uint64_t cursor__u64(struct cursor *);
uint64_t cursor__long_uleb(struct cursor *); /* for cursor__uleb() */
int64_t cursor__sleb(struct cursor *);
const char *cursor__str(struct cursor *); /* NUL-terminated inside the bytes, else NULL and err */

static inline uint64_t cursor__uleb(struct cursor *c)
{
	if (__builtin_expect(!c->err && c->pos < c->end && *c->pos < 0x80, 1))
		return *c->pos++;
	return cursor__long_uleb(c);
}

#endif
