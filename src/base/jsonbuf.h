/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON (RFC 8259), written piece by piece into a buffer. */
#ifndef BASE_JSONBUF_H
#define BASE_JSONBUF_H

#include "base/buf.h"

/* Appends a string: quoted, escaped, with U+FFFD for bytes that are not UTF-8. */
void jsonbuf__str(struct buf *, const char *s, size_t sz);

void jsonbuf__int(struct buf *, int64_t);

/* Appends nanoseconds as microseconds with three decimals. Computes with integers, because a
 * double is not exact. */
void jsonbuf__micros(struct buf *, uint64_t ns);

/* Like jsonbuf__micros(), for milliseconds with six decimals. */
void jsonbuf__millis(struct buf *, uint64_t ns);

#endif
