// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/native.h"

#include <asm/ptrace.h>
#include <stddef.h>
#include <string.h>

#include "capture/usdt_args.h"
#include "capture/usdt_text.h"
#include "capture/usercopy.h"

uint32_t native__signal_fpu_sz(void)
{
	return 0;
}

/* ---- the kernel's code --------------------------------------------------------------------------
 */

#define BRANCH_MASK 0x7c000000u /* matches b and bl, which differ in the highest bit */
#define BRANCH	    0x14000000u

/* The distance is in units of 4 bytes, from the instruction itself. */
bool native__calls(const struct usercopy_code *fn, uint64_t target)
{
	for (size_t i = 0; target && i + 4 <= fn->sz; i += 4) {
		uint32_t insn;
		int64_t rel;

		memcpy(&insn, fn->bytes + i, sizeof(insn));
		rel = (int64_t)((uint64_t)insn << 38) >> 36;
		if ((insn & BRANCH_MASK) == BRANCH && fn->addr + i + (uint64_t)rel == target)
			return true;
	}
	return false;
}

#define LOAD_MASK 0xffc00000u /* matches ldr Wt, [Xn, #4 * imm12] */
#define LOAD	  0xb9400000u

bool native__loads(const struct usercopy_code *fn, uint32_t off)
{
	for (size_t i = 0; i + 4 <= fn->sz; i += 4) {
		uint32_t insn;

		memcpy(&insn, fn->bytes + i, sizeof(insn));
		if ((insn & LOAD_MASK) == LOAD && (insn >> 10 & 0xfff) * 4 == off)
			return true;
	}
	return false;
}

/* ---- USDT ---------------------------------------------------------------------------------------
 */

#define REG_LAST 30

/* Reads "x0", "w0" or "sp". Returns its offset in user_pt_regs. Only whole registers hold
 * addresses. */
static uint16_t native_reg_offset(struct usdt_text *t, bool address)
{
	uint64_t n;

	if (usdt_text__take(t, "sp"))
		return offsetof(struct user_pt_regs, sp);
	if (usdt_text__take(t, "x") || (!address && usdt_text__take(t, "w"))) {
		n = *t->at >= '0' && *t->at <= '9' ? usdt_text__number(t) : REG_LAST + 1;
		if (!t->err && n <= REG_LAST)
			return (uint16_t)(n * sizeof(uint64_t));
	}
	t->err = true;
	return USDT_NO_REG;
}

/* Reads "x0]", "sp, 12]", "x0, x1]", "x0, x1, lsl 3]". */
static void native_address(struct usdt_text *t, struct usdt_arg *a)
{
	a->deref = 1;
	a->base = native_reg_offset(t, true);
	if (usdt_text__take(t, ",")) {
		t->at += strspn(t->at, " #");
		if (usdt_text__at_number(t))
			a->add = usdt_text__number(t);
		else
			a->index = native_reg_offset(t, true);
	}
	if (usdt_text__take(t, ",")) {
		t->at += strspn(t->at, " ");
		if (!usdt_text__take(t, "lsl "))
			t->err = true;
		t->at += strspn(t->at, "#");
		a->shift = t->err ? 0 : (uint8_t)(usdt_text__number(t) & 7);
	}
	if (!usdt_text__take(t, "]"))
		t->err = true;
}

const char *const native__function_args[4] = { "x0", "x1", "x2", "x3" };

const char *const native__function_result = "x0";

void native__usdt_operand(struct usdt_text *t, struct usdt_arg *a)
{
	if (usdt_text__take(t, "["))
		native_address(t, a);
	else if (usdt_text__at_number(t))
		a->add = usdt_text__number(t);
	else
		a->base = native_reg_offset(t, false);
}
