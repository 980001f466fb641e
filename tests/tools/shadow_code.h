/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The effect of an x86-64 instruction on the stack pointer, as far as a shadow stack needs it. */
#ifndef TOOLS_SHADOW_CODE_H
#define TOOLS_SHADOW_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_SZ 16 /* bytes: no instruction is longer than 15 */

enum code_kind {
	CODE_OTHER,
	CODE_CALL,
	CODE_RET,
	CODE_JUMP, /* indirect */
	CODE_SYSCALL,
	CODE_POP,  /* into another register than rsp */
	CODE_LOAD, /* the stack pointer is loaded from memory, or exchanged */
	CODE_MOVE, /* the stack pointer is copied from another register */
};

/* Returns the first byte after the prefixes; *rex is the REX prefix, or 0. */
static inline const uint8_t *code__skip_prefixes(const uint8_t *at, const uint8_t *end,
						 uint8_t *rex)
{
	*rex = 0;
	for (; at < end; at++) {
		bool legacy = *at == 0x66 || *at == 0x67 || *at == 0xf2 || *at == 0xf3 ||
			      *at == 0x2e || *at == 0x36 || *at == 0x3e || *at == 0x26 ||
			      *at == 0x64 || *at == 0x65;

		if (!legacy && (*at & 0xf0) != 0x40)
			break;
		*rex = legacy ? 0 : *at;
	}
	return at;
}

/* FF /2, /3: calls; FF /4, /5: jumps. */
static inline enum code_kind code__indirect(uint8_t modrm)
{
	unsigned op = modrm >> 3 & 7;

	return op == 2 || op == 3 ? CODE_CALL : op == 4 || op == 5 ? CODE_JUMP : CODE_OTHER;
}

/* mov, xchg and lea with the stack pointer as destination; `op` is the opcode, at[0] ModRM. */
static inline enum code_kind code__stack_load(uint8_t op, uint8_t rex, const uint8_t *at)
{
	bool reg_is_sp = (at[0] >> 3 & 7) == 4 && !(rex & 4);
	bool rm_is_sp = (at[0] & 7) == 4 && !(rex & 1);
	bool is_reg = at[0] >> 6 == 3;

	if (!(rex & 8))
		return CODE_OTHER;
	if (op == 0x87 && (reg_is_sp || (is_reg && rm_is_sp)))
		return CODE_LOAD;
	if (op == 0x8b && reg_is_sp)
		return is_reg ? CODE_MOVE : CODE_LOAD;
	if (op == 0x89 && is_reg && rm_is_sp)
		return CODE_MOVE;
	if (op == 0x8d && reg_is_sp && !(rm_is_sp && (at[1] & 7) == 4)) /* not lea x(%rsp) */
		return CODE_MOVE;
	return CODE_OTHER;
}

static inline enum code_kind code__kind(const uint8_t bytes[CODE_SZ])
{
	const uint8_t *end = bytes + CODE_SZ - 3, *at;
	uint8_t rex;

	at = code__skip_prefixes(bytes, end, &rex);
	if (at[0] == 0xe8)
		return CODE_CALL;
	if (at[0] == 0xff)
		return code__indirect(at[1]);
	if (at[0] == 0xc3 || at[0] == 0xc2)
		return CODE_RET;
	if (at[0] == 0x0f && at[1] == 0x05)
		return CODE_SYSCALL;
	if (at[0] == 0x5c && !(rex & 1))
		return CODE_LOAD;
	if ((at[0] & 0xf8) == 0x58)
		return CODE_POP;
	return code__stack_load(at[0], rex, at + 1);
}

#endif
