// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/utf8.h"

#include <string.h>

/* The range of the second byte depends on the first. */
struct lead {
	uint8_t from, to, second_from, second_to, sz;
};

static const struct lead leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};
#define LEAD_CNT (sizeof(leads) / sizeof(*leads))

size_t utf8__character(const char *text, size_t sz, bool *whole)
{
	const uint8_t *s = (const uint8_t *)text;
	const struct lead *l = leads;
	size_t n;

	*whole = *s < 0x80;
	if (*whole)
		return 1;
	while (l < leads + LEAD_CNT && (*s < l->from || *s > l->to))
		l++;
	if (l == leads + LEAD_CNT || sz < 2 || s[1] < l->second_from || s[1] > l->second_to)
		return 1;
	for (n = 2; n < l->sz && n < sz && (s[n] & 0xc0) == 0x80; n++)
		;
	*whole = n == l->sz;
	return n;
}

/* Marks, embeddings, overrides and isolates make a terminal show text in another order. */
static bool utf8_is_bidi(const uint8_t *s, size_t sz)
{
	if (sz == 2)
		return s[0] == 0xd8 && s[1] == 0x9c; /* U+061C */
	if (sz != 3 || s[0] != 0xe2)
		return false;
	if (s[1] == 0x80) /* U+200E, U+200F, U+202A to U+202E */
		return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae);
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9; /* U+2066 to U+2069 */
}

bool utf8__is_control(const char *text, size_t sz)
{
	const uint8_t *s = (const uint8_t *)text;

	if (utf8_is_bidi(s, sz))
		return true;
	return sz == 1 ? s[0] < 0x20 || s[0] == 0x7f : sz == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

#define HIGH_BITS 0x8080808080808080u

/* Nearly all text is ASCII: checks eight bytes at a time. */
static size_t utf8_ascii_prefix(const char *s, size_t sz)
{
	size_t at = 0;
	uint64_t word;

	for (; sz - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, s + at, sizeof(word));
		if (word & HIGH_BITS)
			break;
	}
	while (at < sz && (uint8_t)s[at] < 0x80)
		at++;
	return at;
}

size_t utf8__valid(const char *s, size_t sz)
{
	size_t at = utf8_ascii_prefix(s, sz);
	bool whole = true;

	while (at < sz) {
		size_t n = utf8__character(s + at, sz - at, &whole);

		if (!whole)
			break;
		at += n;
		at += utf8_ascii_prefix(s + at, sz - at);
	}
	return at;
}

void utf8__sanitize(struct buf *out, const char *s, size_t sz)
{
	size_t at;
	bool whole;

	for (; (at = utf8__valid(s, sz)) < sz; s += at, sz -= at) {
		buf__append(out, s, at);
		buf__append(out, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		at += utf8__character(s + at, sz - at, &whole);
	}
	buf__append(out, s, sz);
}

void utf8__sanitize_printable(struct buf *out, const char *s, size_t sz)
{
	for (size_t at = 0, n; at < sz; at += n) {
		bool whole;

		n = utf8__character(s + at, sz - at, &whole);
		if (!whole)
			buf__append(out, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		else if (utf8__is_control(s + at, n))
			buf__u8(out, '?');
		else
			buf__append(out, s + at, n);
	}
}

void utf8__sanitize_lines(struct buf *out, const char *s, size_t sz)
{
	const char *end;

	for (; (end = memchr(s, '\n', sz)); sz -= (size_t)(end + 1 - s), s = end + 1) {
		utf8__sanitize_printable(out, s, (size_t)(end - s));
		buf__u8(out, '\n');
	}
	utf8__sanitize_printable(out, s, sz);
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
