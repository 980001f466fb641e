// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cursor.h"

/* Bits past the 64th are dropped; a number that never ends is an error. */
static uint64_t leb(struct cursor *c, unsigned *shift, uint8_t *last)
{
	uint64_t v = 0;

	*shift = 0;
	do {
		*last = cursor__u8(c);
		if (*shift < 64)
			v |= (uint64_t)(*last & 0x7f) << *shift;
		*shift += 7;
	} while ((*last & 0x80) && !c->err);
	return c->err ? 0 : v;
}

uint64_t cursor__long_uleb(struct cursor *c)
{
	unsigned shift;
	uint8_t last;

	return leb(c, &shift, &last);
}

int64_t cursor__long_sleb(struct cursor *c)
{
	unsigned shift;
	uint8_t last;
	uint64_t v = leb(c, &shift, &last);

	if (!c->err && shift < 64 && (last & 0x40))
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

const char *cursor__str(struct cursor *c)
{
	const char *s = (const char *)c->pos;
	const void *nul = c->err || c->pos == c->end ? NULL : memchr(s, 0, cursor__left(c));

	if (!nul) {
		c->err = true;
		return NULL;
	}
	c->pos = (const uint8_t *)nul + 1;
	return s;
}
