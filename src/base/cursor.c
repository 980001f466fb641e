// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cursor.h"

/* Bits past the 64th are dropped. */
static struct cursor_leb cursor_take_leb(const uint8_t *pos, const uint8_t *end, unsigned *shift)
{
	struct cursor_leb n = { 0 };

	for (*shift = 0; pos < end && !n.end; *shift += 7) {
		uint8_t byte = *pos++;

		if (*shift < 64)
			n.v |= (uint64_t)(byte & 0x7f) << *shift;
		if (!(byte & 0x80))
			n.end = pos;
	}
	return n;
}

struct cursor_leb cursor__long_uleb(const uint8_t *pos, const uint8_t *end)
{
	unsigned shift;

	return cursor_take_leb(pos, end, &shift);
}

struct cursor_leb cursor__long_sleb(const uint8_t *pos, const uint8_t *end)
{
	unsigned shift;
	struct cursor_leb n = cursor_take_leb(pos, end, &shift);

	if (n.end && shift < 64 && (n.end[-1] & 0x40))
		n.v |= UINT64_MAX << shift;
	return n;
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
