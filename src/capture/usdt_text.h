/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor over the text of a USDT argument. */
#ifndef CAPTURE_USDT_TEXT_H
#define CAPTURE_USDT_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The rest of the text. Errors are sticky: once something does not fit, nothing does. */
struct usdt_text {
	const char *at;
	bool err;
};

static inline bool usdt_text__take(struct usdt_text *t, const char *s)
{
	size_t len = strlen(s);

	if (t->err || strncmp(t->at, s, len) != 0)
		return false;
	t->at += len;
	return true;
}

static inline bool usdt_text__at_number(const struct usdt_text *t)
{
	return strchr("+-0123456789", *t->at) && *t->at;
}

/* Reads -8, 0x10, and sums like -8+4. */
static inline uint64_t usdt_text__number(struct usdt_text *t)
{
	uint64_t sum = 0;

	do {
		bool minus = *t->at == '-';
		const char *digits = t->at + (*t->at == '-' || *t->at == '+');
		char *end;
		uint64_t v = strtoull(digits, &end, 0);

		if (*digits < '0' || *digits > '9')
			t->err = true;
		sum += minus ? -v : v;
		t->at = t->err ? t->at : end;
	} while (!t->err && (*t->at == '-' || *t->at == '+'));
	return sum;
}

#endif
