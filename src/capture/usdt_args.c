// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/usdt_args.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CNT(a) (sizeof(a) / sizeof(*(a)))

/* Registers by their names for 8, 4, 2 and 1 byte, and where the kernel has them in pt_regs. */
#define NUMBERED(n)                                                                            \
	{                                                                                      \
		{ "r" #n, "r" #n "d", "r" #n "w", "r" #n "b" }, offsetof(struct pt_regs, r##n) \
	}

static const struct {
	const char *names[4];
	uint16_t off;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, offsetof(struct pt_regs, rax) },
	{ { "rbx", "ebx", "bx", "bl" }, offsetof(struct pt_regs, rbx) },
	{ { "rcx", "ecx", "cx", "cl" }, offsetof(struct pt_regs, rcx) },
	{ { "rdx", "edx", "dx", "dl" }, offsetof(struct pt_regs, rdx) },
	{ { "rsi", "esi", "si", "sil" }, offsetof(struct pt_regs, rsi) },
	{ { "rdi", "edi", "di", "dil" }, offsetof(struct pt_regs, rdi) },
	{ { "rbp", "ebp", "bp", "bpl" }, offsetof(struct pt_regs, rbp) },
	{ { "rsp", "esp", "sp", "spl" }, offsetof(struct pt_regs, rsp) },
	NUMBERED(8),
	NUMBERED(9),
	NUMBERED(10),
	NUMBERED(11),
	NUMBERED(12),
	NUMBERED(13),
	NUMBERED(14),
	NUMBERED(15),
};

/* What is left to read; sticky like a cursor: once something does not fit, nothing does. */
struct text {
	const char *at;
	bool err;
};

static bool take(struct text *t, const char *s)
{
	size_t len = strlen(s);

	if (t->err || strncmp(t->at, s, len) != 0)
		return false;
	t->at += len;
	return true;
}

static bool at_number(const struct text *t)
{
	return strchr("+-0123456789", *t->at) && *t->at;
}

/* -8, 0x10, and sums of such: -8+4. */
static uint64_t number(struct text *t)
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

/* Its offset; whole registers only when the argument is an address. */
static uint16_t reg(struct text *t, bool address)
{
	size_t name_cnt = address ? 1 : CNT(registers[0].names), len;

	if (take(t, "%")) {
		len = strcspn(t->at, " ,)");
		for (size_t i = 0; i < CNT(registers) * name_cnt; i++) {
			const char *name = registers[i / name_cnt].names[i % name_cnt];

			if (strlen(name) != len || strncmp(name, t->at, len) != 0)
				continue;
			t->at += len;
			return registers[i / name_cnt].off;
		}
	}
	t->err = true;
	return USDT_NO_REG;
}

/* "(%rax)", "(%rax,%rcx,4)", "(,%rcx,4)" */
static void address(struct text *t, struct usdt_arg *a)
{
	static const char *const scales[] = { ",1", ",2", ",4", ",8" };

	a->deref = 1;
	if (*t->at != ',')
		a->base = reg(t, true);
	if (take(t, ",")) {
		a->index = reg(t, true);
		for (uint8_t shift = 0; shift < CNT(scales); shift++) {
			if (take(t, scales[shift])) {
				a->shift = shift;
				break;
			}
		}
	}
	if (!take(t, ")"))
		t->err = true;
}

static void operand(struct text *t, struct usdt_arg *a)
{
	if (take(t, "$")) {
		a->add = number(t);
	} else if (*t->at == '%') {
		a->base = reg(t, false);
	} else {
		a->add = at_number(t) ? number(t) : 0;
		if (take(t, "("))
			address(t, a);
		else
			t->err = true; /* a symbol, or an absolute address */
	}
}

/* "8@", "-4@", or nothing: a whole register, unsigned. */
static void size(struct text *t, struct usdt_arg *a)
{
	static const char *const sizes[] = { "1@", "2@", "4@", "8@" };
	size_t len = strcspn(t->at, "@ ");

	a->sz = sizeof(uint64_t);
	if (t->at[len] != '@')
		return;
	a->is_signed = take(t, "-");
	for (size_t i = 0; i < CNT(sizes); i++) {
		if (take(t, sizes[i])) {
			a->sz = (uint8_t)(1u << i);
			return;
		}
	}
	t->err = true; /* floating point, or a size that there is not */
}

static struct usdt_arg argument(struct text *t)
{
	struct usdt_arg a = { .base = USDT_NO_REG, .index = USDT_NO_REG };

	size(t, &a);
	operand(t, &a);
	if (*t->at && *t->at != ' ')
		t->err = true;
	return a;
}

int usdt_args__parse(const char *text, struct usdt_arg *out, size_t max, const char **bad)
{
	size_t cnt = 0;

	for (;;) {
		struct text t;

		text += strspn(text, " ");
		if (!*text)
			return (int)cnt;
		t = (struct text){ .at = text };
		if (cnt < max)
			out[cnt] = argument(&t);
		if (t.err) {
			*bad = text;
			return -EINVAL;
		}
		text += strcspn(text, " ");
		cnt++;
	}
}
