// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct slice *grow(struct strings *s, size_t cnt)
{
	struct slice *v = reallocarray(s->v, s->cnt + cnt + 1, sizeof(*v));

	if (!v)
		return NULL;
	s->v = v;
	s->cnt += cnt;
	return v + s->cnt - cnt;
}

int strings__take(struct strings *s, const struct strtab *tab, size_t from)
{
	size_t cnt = strtab__cnt(tab) - from;
	struct slice *v = grow(s, cnt);

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		v[i].data = strtab__str(tab, (uint32_t)(from + i), &v[i].sz);
	return 0;
}

int strings__append(struct strings *s, const struct strings *from)
{
	struct slice *v = grow(s, from->cnt);

	if (!v)
		return -ENOMEM;
	if (from->cnt)
		memcpy(v, from->v, from->cnt * sizeof(*v));
	return 0;
}

void strings__free(struct strings *s)
{
	free(s->v);
	*s = (struct strings){ 0 };
}

/* Unicode 15, table 3-7: the second byte's range depends on the first. */
struct lead {
	uint8_t from, to, second_from, second_to, sz;
};

static const struct lead leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};
#define LEAD_CNT (sizeof(leads) / sizeof(*leads))

/* Bytes at s that begin a character, at least 1; *whole when they are all of it. */
static size_t character(const uint8_t *s, size_t sz, bool *whole)
{
	const struct lead *l = leads;
	size_t n = 1;

	*whole = *s < 0x80;
	while (l < leads + LEAD_CNT && (*s < l->from || *s > l->to))
		l++;
	if (l == leads + LEAD_CNT || sz < 2 || s[1] < l->second_from || s[1] > l->second_to)
		return 1;
	for (n = 2; n < l->sz && n < sz && (s[n] & 0xc0) == 0x80; n++)
		;
	*whole = n == l->sz;
	return n;
}

size_t utf8__valid(const char *s, size_t sz)
{
	size_t at = 0;
	bool whole = true;

	while (at < sz) {
		size_t n = character((const uint8_t *)s + at, sz - at, &whole);

		if (!whole)
			break;
		at += n;
	}
	return at;
}

void utf8__sanitize(struct buf *out, const char *s, size_t sz)
{
	size_t at;
	bool whole;

	for (; (at = utf8__valid(s, sz)) < sz; s += at, sz -= at) {
		buf__append(out, s, at);
		buf__append(out, "\xef\xbf\xbd", 3);
		at += character((const uint8_t *)s + at, sz - at, &whole);
	}
	buf__append(out, s, sz);
}
