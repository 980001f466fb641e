// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/usdt_args.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/native.h"
#include "capture/usdt_text.h"

#define CNT(a) (sizeof(a) / sizeof(*(a)))

/* Reads "8@", "-4@", or nothing, which means a whole register, unsigned. */
static void usdt_args_size(struct usdt_text *t, struct usdt_arg *a)
{
	static const char *const sizes[] = { "1@", "2@", "4@", "8@" };
	size_t len = strcspn(t->at, "@ ");

	a->sz = sizeof(uint64_t);
	if (t->at[len] != '@')
		return;
	a->is_signed = usdt_text__take(t, "-");
	for (size_t i = 0; i < CNT(sizes); i++) {
		if (usdt_text__take(t, sizes[i])) {
			a->sz = (uint8_t)(1u << i);
			return;
		}
	}
	t->err = true; /* floating point, or a size that does not exist */
}

static struct usdt_arg usdt_argument(struct usdt_text *t)
{
	struct usdt_arg a = { .base = USDT_NO_REG, .index = USDT_NO_REG };

	usdt_args_size(t, &a);
	native__usdt_operand(t, &a);
	if (*t->at && *t->at != ' ')
		t->err = true;
	return a;
}

/* Returns the end of an argument. AArch64 has spaces inside brackets. */
static const char *usdt_args_end(const char *text)
{
	for (bool inside = false; *text && (inside || *text != ' '); text++) {
		if (*text == '[' || *text == ']')
			inside = *text == '[';
	}
	return text;
}

int usdt_args__parse(const char *text, struct usdt_arg *out, size_t max, const char **bad)
{
	size_t cnt = 0;

	for (;;) {
		struct usdt_text t;

		text += strspn(text, " ");
		if (!*text)
			return (int)cnt;
		t = (struct usdt_text){ .at = text };
		if (cnt < max)
			out[cnt] = usdt_argument(&t);
		if (t.err) {
			*bad = text;
			return -EINVAL;
		}
		text = usdt_args_end(text);
		cnt++;
	}
}
