/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable byte buffer. Errors are sticky: after a failed allocation appends do nothing and
 * buf__err() returns -ENOMEM, so that encoders chain calls and check once.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t sz, cap;
	int err;
};

void buf__free(struct buf *);  /* leaves it empty and usable */
void buf__reset(struct buf *); /* empties it, keeps the memory, clears the error */
void buf__append(struct buf *, const void *data, size_t sz);
uint8_t *buf__grow(struct buf *, size_t sz); /* for buf__extend() */

/* Appends `sz` uninitialized bytes. Returns their start, or NULL on error. */
static inline uint8_t *buf__extend(struct buf *b, size_t sz)
{
	if (b->err || sz > b->cap - b->sz)
		return buf__grow(b, sz);
	b->sz += sz;
	return b->data + b->sz - sz;
}

void buf__u8(struct buf *, uint8_t);
void buf__u32(struct buf *, uint32_t); /* little-endian */
void buf__u64(struct buf *, uint64_t); /* little-endian */
void buf__uleb(struct buf *, uint64_t);
void buf__str(struct buf *, const char *text); /* without its NUL */
__attribute__((format(printf, 2, 3))) void buf__printf(struct buf *, const char *fmt, ...);
static inline int buf__err(const struct buf *b)
{
	return b->err;
}

#endif
