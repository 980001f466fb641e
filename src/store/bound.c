// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/utf8.h"
#include "store/bound.h"

#include "store/encode.h"

/* Returns the size of a prefix of at most BOUND_MAX bytes that ends with a whole character. */
static size_t bound_prefix(const struct leaf *l, struct string s)
{
	return l->column->type == COLUMN_STRING ? utf8__valid(s.data, BOUND_MAX) : BOUND_MAX;
}

/* Returns whether the byte can grow by one and leave valid text: it is the last byte of a character
 * and not the largest of its length. */
static bool bound_can_grow(const struct leaf *l, struct string s, size_t at, size_t sz)
{
	uint8_t c = (uint8_t)s.data[at];

	if (l->column->type != COLUMN_STRING)
		return c < 0xff;
	return c < 0xbf && c != 0x7f && (at + 1 == sz || (s.data[at + 1] & 0xc0) != 0x80);
}

static bool bound_whole(struct buf *out, const struct leaf *l, uint64_t value)
{
	struct string s;

	buf__reset(out);
	if (!column__is_bytes(l->column)) {
		encode__plain(out, &value, 1, 8 * (unsigned)column__width(l->column));
		return true;
	}
	s = leaf__string(l, value);
	if (s.sz > BOUND_MAX)
		return false;
	buf__append(out, s.data, s.sz);
	return true;
}

bool bound__min(struct buf *out, const struct leaf *l, uint64_t value)
{
	struct string s;

	if (bound_whole(out, l, value))
		return true;
	s = leaf__string(l, value);
	buf__append(out, s.data, bound_prefix(l, s));
	return false;
}

bool bound__max(struct buf *out, const struct leaf *l, uint64_t value)
{
	struct string s;
	size_t sz, at;

	if (bound_whole(out, l, value))
		return true;
	s = leaf__string(l, value);
	sz = at = bound_prefix(l, s);
	while (at > 0 && !bound_can_grow(l, s, at - 1, sz))
		at--;
	buf__append(out, s.data, at ? at : s.sz);
	if (at && !buf__err(out))
		out->data[at - 1]++;
	return at == 0;
}
