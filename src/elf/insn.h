/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 instructions: their length, and what they do to the stack pointer and the frame pointer
 * (Intel SDM volume 2, chapter 2 and appendix A). Everything else about an instruction is ignored.
 */
#ifndef ELF_INSN_H
#define ELF_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_SZ_MAX 15

enum insn_kind {
	INSN_OTHER,   /* changes neither register */
	INSN_SET_EAX, /* eax = imm */
	INSN_SYSCALL,
	INSN_CALL,	 /* a function at the end of the instruction + imm; 0: unknown address */
	INSN_NOP,	 /* padding: nop of any length, int3 */
	INSN_PUSH,	 /* 8 bytes; .fp: pushes the frame pointer */
	INSN_POP,	 /* 8 bytes; .fp: into the frame pointer */
	INSN_MOVE_SP,	 /* sp += imm */
	INSN_SP_FROM_FP, /* sp = fp + imm */
	INSN_LOSE_SP,	 /* sp = an unknown value */
	INSN_SAVE_FP,	 /* *(sp + imm) = fp */
	INSN_LOAD_FP,	 /* fp = *(sp + imm) */
	INSN_FP_FROM_SP, /* fp = sp + imm */
	INSN_CLEAR_FP,	 /* fp = 0 */
	INSN_LOSE_FP,	 /* fp = an unknown value */
	INSN_LEAVE,	 /* sp = fp; pop fp */
	INSN_BRANCH,	 /* may continue at the end of the instruction + imm */
	INSN_JUMP,	 /* continues at the end of the instruction + imm */
	INSN_JUMP_ANY,	 /* continues at an address in a register or in memory */
	INSN_RETURN,
	INSN_STOP, /* hlt, ud2: execution ends */
};

struct insn {
	enum insn_kind kind;
	uint8_t sz; /* bytes */
	uint8_t fp; /* 1: the operand is the frame pointer */
	int64_t imm;
};

/* Decodes the instruction at `code`, where `sz` bytes are readable. Returns its length, or 0 if it
 * is invalid or longer than `sz`. */
size_t insn__decode(struct insn *, const uint8_t *code, size_t sz);

/* Returns whether execution never continues with the next instruction. */
static inline bool insn__ends(const struct insn *i)
{
	return i->kind == INSN_JUMP || i->kind == INSN_JUMP_ANY || i->kind == INSN_RETURN ||
	       i->kind == INSN_STOP;
}

/* Like insn__decode(), for code that is not reached from the previous instruction: a zero byte is
 * padding there (as Free Pascal writes it), not the start of an addition. */
static inline size_t insn__decode_after_end(struct insn *i, const uint8_t *code, size_t sz)
{
	if (!sz || *code)
		return insn__decode(i, code, sz);
	*i = (struct insn){ .kind = INSN_NOP, .sz = 1 };
	return 1;
}

#endif
