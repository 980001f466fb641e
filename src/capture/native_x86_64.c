// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/native.h"

#include <asm/ptrace.h>
#include <cpuid.h>
#include <stddef.h>
#include <string.h>

#include "capture/usdt_args.h"
#include "capture/usdt_text.h"
#include "capture/usercopy.h"

#define CNT(a) (sizeof(a) / sizeof(*(a)))

/* ---- signal frames ------------------------------------------------------------------------------
 */

#define FXSAVE_SZ	512
#define XSAVE_HEADER_SZ 64
#define XSAVE_LEAF	0xd /* leaf of cpuid: size and offset of each component */
#define COMPONENTS	63
#define AMX_TILES	18
#define MAGIC2_SZ	4 /* FP_XSTATE_MAGIC2 follows the state */

/* Returns XCR0: the components that the kernel has switched on. */
static uint64_t native_components(void)
{
	uint32_t low, high;

	asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

uint32_t native__signal_fpu_sz(void)
{
	uint32_t sz = FXSAVE_SZ + XSAVE_HEADER_SZ, component_sz, off, c, d;

	if (!__get_cpuid(1, &component_sz, &off, &c, &d) || !(c & bit_OSXSAVE))
		return FXSAVE_SZ;
	for (unsigned i = 2; i < COMPONENTS; i++) {
		if (i == AMX_TILES || !(native_components() >> i & 1))
			continue;
		__cpuid_count(XSAVE_LEAF, i, component_sz, off, c, d);
		if (off + component_sz > sz)
			sz = off + component_sz;
	}
	return sz + MAGIC2_SZ;
}

/* ---- the kernel's code --------------------------------------------------------------------------
 */

#define CALL 0xe8 /* rel32: the distance from the next instruction */
#define JUMP 0xe9 /* rel32: also a tail call */

/* Tries every byte, whether an instruction begins there or not: the chance that four other bytes
 * equal the distance is one in four billion. */
bool native__calls(const struct usercopy_code *fn, uint64_t target)
{
	for (size_t i = 0; target && i + 5 <= fn->sz; i++) {
		int32_t rel;

		memcpy(&rel, fn->bytes + i + 1, sizeof(rel));
		if ((fn->bytes[i] == CALL || fn->bytes[i] == JUMP) &&
		    fn->addr + i + 5 + (uint64_t)rel == target)
			return true;
	}
	return false;
}

#define LOAD	    0x8b /* mov r/m32, r32 */
#define MODE(modrm) ((modrm) >> 6)
#define MODE_DISP32 2
#define BASE(modrm) ((modrm)&7)
#define BASE_BY_SIB 4 /* another byte precedes the displacement */

/* Tries every byte, like native__calls(). Compilers use a 64-bit base without a SIB byte, except
 * for r12. */
bool native__loads(const struct usercopy_code *fn, uint32_t off)
{
	for (size_t i = 0; i + 6 <= fn->sz; i++) {
		uint8_t modrm = fn->bytes[i + 1];
		uint32_t disp;

		memcpy(&disp, fn->bytes + i + 2, sizeof(disp));
		if (fn->bytes[i] == LOAD && MODE(modrm) == MODE_DISP32 &&
		    BASE(modrm) != BASE_BY_SIB && disp == off)
			return true;
	}
	return false;
}

/* ---- USDT (AT&T syntax) -------------------------------------------------------------------------
 */

/* Registers by their names for 8, 4, 2 and 1 byte, and their place in pt_regs. */
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

/* Returns the register's offset. Accepts only whole registers for an address. */
static uint16_t native_reg(struct usdt_text *t, bool address)
{
	size_t name_cnt = address ? 1 : CNT(registers[0].names), len;

	if (usdt_text__take(t, "%")) {
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

/* Reads "(%rax)", "(%rax,%rcx,4)", "(,%rcx,4)". */
static void native_address(struct usdt_text *t, struct usdt_arg *a)
{
	static const char *const scales[] = { ",1", ",2", ",4", ",8" };

	a->deref = 1;
	if (*t->at != ',')
		a->base = native_reg(t, true);
	if (usdt_text__take(t, ",")) {
		a->index = native_reg(t, true);
		for (size_t shift = 0; shift < CNT(scales); shift++) {
			if (usdt_text__take(t, scales[shift])) {
				a->shift = (uint8_t)shift;
				break;
			}
		}
	}
	if (!usdt_text__take(t, ")"))
		t->err = true;
}

const char *const native__function_args[4] = { "%rdi", "%rsi", "%rdx", "%rcx" };

const char *const native__function_result = "%rax";

void native__usdt_operand(struct usdt_text *t, struct usdt_arg *a)
{
	if (usdt_text__take(t, "$")) {
		a->add = usdt_text__number(t);
	} else if (*t->at == '%') {
		a->base = native_reg(t, false);
	} else {
		a->add = usdt_text__at_number(t) ? usdt_text__number(t) : 0;
		if (usdt_text__take(t, "("))
			native_address(t, a);
		else
			t->err = true; /* a symbol, or an absolute address */
	}
}
