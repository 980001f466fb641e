// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the sequence that begins here, 0 when it is none (RFC 3629, section 4). */
static size_t sequence(const unsigned char *s, size_t left)
{
	size_t sz = s[0] < 0x80			   ? 1
		    : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
		    : (s[0] & 0xf0) == 0xe0	   ? 3
		    : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
						   : 0;
	if (sz == 0 || sz > left)
		return 0;
	for (size_t i = 1; i < sz; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f)) /* overlong, surrogate */
		return 0;
	if ((s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f)) /* overlong, too large */
		return 0;
	return sz;
}

static bool is_control(const unsigned char *s, size_t sz)
{
	return sz == 1 ? s[0] < 0x20 || s[0] == 0x7f : sz == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

static void append(struct buf *out, const char *text, size_t left, bool printable)
{
	const unsigned char *s = (const unsigned char *)text;

	while (left) {
		size_t sz = sequence(s, left);

		if (!sz)
			buf__append(out, "\xef\xbf\xbd", 3);
		else if (printable && is_control(s, sz))
			buf__append(out, "?", 1);
		else
			buf__append(out, s, sz);
		s += sz ? sz : 1;
		left -= sz ? sz : 1;
	}
}

void utf8__append(struct buf *out, const char *s, size_t sz)
{
	append(out, s, sz, false);
}

void utf8__append_printable(struct buf *out, const char *s, size_t sz)
{
	append(out, s, sz, true);
}

size_t utf8__cnt(const char *s, size_t sz)
{
	size_t cnt = 0;

	for (size_t i = 0; i < sz; i++)
		cnt += ((unsigned char)s[i] & 0xc0) != 0x80;
	return cnt;
}

size_t utf8__prefix(const char *s, size_t sz, size_t cnt)
{
	size_t i = 0;

	for (; i < sz; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80 && cnt-- == 0)
			break;
	return i;
}
