/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader of external bytes (little-endian). Errors are sticky: a read past the end
 * returns 0 and sets `err`, so that parsers chain reads and check once.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns whether `sz` bytes are left; sets err if not. */
static inline bool cursor__has(struct cursor *c, size_t sz)
{
	if (c->err || sz > cursor__left(c))
		c->err = true;
	return !c->err;
}

/* Returns NULL past the end. */
static inline const void *cursor__bytes(struct cursor *c, size_t sz)
{
	const void *at = c->pos;

	if (!cursor__has(c, sz))
		return NULL;
	c->pos += sz;
	return at;
}

static inline uint8_t cursor__u8(struct cursor *c)
{
	return cursor__has(c, 1) ? *c->pos++ : 0;
}

#define CURSOR_INT(bits, name)                                        \
	static inline uint##bits##_t cursor__##name(struct cursor *c) \
	{                                                             \
		uint##bits##_t v;                                     \
		if (!cursor__has(c, sizeof(v)))                       \
			return 0;                                     \
		memcpy(&v, c->pos, sizeof(v));                        \
		c->pos += sizeof(v);                                  \
		return le##bits##toh(v);                              \
	}

CURSOR_INT(16, u16)
CURSOR_INT(32, u32)
CURSOR_INT(64, u64)

/* must end with a NUL inside the bytes; else NULL and err */
const char *cursor__str(struct cursor *);

/* A number of several bytes, and its end, or NULL if it does not end. Returned in registers. */
struct cursor_leb {
	uint64_t v;
	const uint8_t *end;
};
struct cursor_leb cursor__long_uleb(const uint8_t *pos, const uint8_t *end);
struct cursor_leb cursor__long_sleb(const uint8_t *pos, const uint8_t *end);

/* Moves to the end of the number. If it does not end, sets err and moves to the end of the bytes.
 */
static inline uint64_t cursor__take_leb(struct cursor *c, struct cursor_leb n)
{
	c->err |= !n.end;
	c->pos = c->err ? c->end : n.end;
	return c->err ? 0 : n.v;
}

static inline uint64_t cursor__uleb(struct cursor *c)
{
	if (__builtin_expect(!c->err && c->pos < c->end && *c->pos < 0x80, 1))
		return *c->pos++;
	return cursor__take_leb(c, cursor__long_uleb(c->pos, c->end));
}

static inline int64_t cursor__sleb(struct cursor *c)
{
	if (__builtin_expect(!c->err && c->pos < c->end && *c->pos < 0x80, 1))
		return (int64_t)((uint64_t)*c->pos++ << 57) >> 57;
	return (int64_t)cursor__take_leb(c, cursor__long_sleb(c->pos, c->end));
}

#endif
