// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/jsonbuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Returns true for a byte that must be escaped in a string (RFC 8259, section 7). */
static bool jsonbuf_is_escaped(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

static void jsonbuf_escape(struct buf *out, unsigned char c)
{
	char text[8];

	if (c == '"' || c == '\\')
		snprintf(text, sizeof(text), "\\%c", c);
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	buf__str(out, text);
}

/* Appends valid UTF-8, escaped. */
static void jsonbuf_append_escaped(struct buf *out, const char *s, size_t sz)
{
	size_t from = 0;

	for (size_t at = 0; at < sz; at++) {
		if (!jsonbuf_is_escaped((unsigned char)s[at]))
			continue;
		buf__append(out, s + from, at - from);
		jsonbuf_escape(out, (unsigned char)s[at]);
		from = at + 1;
	}
	buf__append(out, s + from, sz - from);
}

void jsonbuf__str(struct buf *out, const char *s, size_t sz)
{
	buf__u8(out, '"');
	while (sz) {
		size_t valid = utf8__valid(s, sz);
		bool whole;

		jsonbuf_append_escaped(out, s, valid);
		if (valid < sz) {
			buf__str(out, UTF8_REPLACEMENT);
			valid += utf8__character(s + valid, sz - valid, &whole);
		}
		s += valid;
		sz -= valid;
	}
	buf__u8(out, '"');
}

void jsonbuf__int(struct buf *out, int64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, n);
	buf__str(out, text);
}

void jsonbuf__micros(struct buf *out, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
	buf__str(out, text);
}

void jsonbuf__millis(struct buf *out, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%06u", ns / 1000000, (unsigned)(ns % 1000000));
	buf__str(out, text);
}
