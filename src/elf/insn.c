// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/insn.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

/*
 * The operands of each opcode, as a letter: '-' none, 'M' ModRM, 'b' ModRM and imm8, 'z' ModRM and
 * imm32 (imm16 with an operand size prefix), 'B' imm8, 'Z' imm32, 'W' imm16, 'E' imm16 and imm8,
 * 'V' imm32 or imm64, 'O' an address, 'J' rel8, 'K' rel32, 'g' and 'G' ModRM, and an immediate if
 * its reg field is 0 or 1. 'x' is invalid in 64-bit mode, 'p' is a prefix, 'e' an escape.
 */
static const char one_byte[] = "MMMMBZxxMMMMBZxe" /* 00 */
			       "MMMMBZxxMMMMBZxx" /* 10 */
			       "MMMMBZpxMMMMBZpx" /* 20 */
			       "MMMMBZpxMMMMBZpx" /* 30 */
			       "pppppppppppppppp" /* 40: REX */
			       "----------------" /* 50 */
			       "xxeMppppZzBb----" /* 60 */
			       "JJJJJJJJJJJJJJJJ" /* 70 */
			       "bzxbMMMMMMMMMMMM" /* 80 */
			       "----------x-----" /* 90 */
			       "OOOO----BZ------" /* a0 */
			       "BBBBBBBBVVVVVVVV" /* b0 */
			       "bbW-eebzE-W--Bx-" /* c0 */
			       "MMMMxxx-MMMMMMMM" /* d0 */
			       "JJJJBBBBKKxJ----" /* e0 */
			       "p-pp--gG------MM" /* f0 */;

static const char two_bytes[] = "MMMMx-----x-xM-b" /* 0f 00 */
				"MMMMMMMMMMMMMMMM" /* 0f 10 */
				"MMMMxxxxMMMMMMMM" /* 0f 20 */
				"------x-exexxxxx" /* 0f 30 */
				"MMMMMMMMMMMMMMMM" /* 0f 40 */
				"MMMMMMMMMMMMMMMM" /* 0f 50 */
				"MMMMMMMMMMMMMMMM" /* 0f 60 */
				"bbbbMMM-MMMMMMMM" /* 0f 70 */
				"KKKKKKKKKKKKKKKK" /* 0f 80 */
				"MMMMMMMMMMMMMMMM" /* 0f 90 */
				"---MbMxx---MbMMM" /* 0f a0 */
				"MMMMMMMMMMbMMMMM" /* 0f b0 */
				"MMbMbbbM--------" /* 0f c0 */
				"MMMMMMMMMMMMMMMM" /* 0f d0 */
				"MMMMMMMMMMMMMMMM" /* 0f e0 */
				"MMMMMMMMMMMMMMMM" /* 0f f0 */;

#define SP 4 /* the numbers of rsp and rbp in instructions */
#define FP 5

enum opcode_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_XOP8, MAP_XOP9, MAP_XOP10 };

/* The state of decoding one instruction. */
struct decoder {
	const uint8_t *at, *end;
	bool failed;
	bool operand16, address32, vector;
	uint8_t vvvv; /* the additional register of VEX and EVEX */
	uint8_t rex;
	enum opcode_map map;
	uint8_t op;
	bool has_modrm, has_sib;
	uint8_t modrm, sib;
	int64_t disp, imm;
};

static uint64_t insn_take(struct decoder *d, size_t sz)
{
	uint64_t v = 0;

	if ((size_t)(d->end - d->at) < sz) {
		d->failed = true;
		return 0;
	}
	memcpy(&v, d->at, sz);
	d->at += sz;
	return le64toh(v);
}

/* Reads a sign-extended number. */
static int64_t insn_take_signed(struct decoder *d, size_t sz)
{
	unsigned unused = 64 - 8 * (unsigned)sz;

	return (int64_t)(insn_take(d, sz) << unused) >> unused;
}

/* ---- prefixes and opcode ---- */

/* VEX of two or three bytes, and EVEX, contain the opcode map; `p0` is the byte with it. */
static void insn_take_vector_opcode(struct decoder *d, uint8_t escape)
{
	uint8_t p0 = (uint8_t)insn_take(d, 1), map = escape == 0x62 ? p0 & 7 : p0 & 0x1f;

	d->vector = true;
	d->rex = p0 & 0x80 ? 0 : 4; /* R is inverted */
	if (escape == 0xc5)
		map = MAP_0F;
	d->vvvv = ~(escape == 0xc5 ? p0 : (uint8_t)insn_take(d, 1)) >> 3 & 15;
	insn_take(d, escape == 0x62);
	d->op = (uint8_t)insn_take(d, 1);
	d->map = map <= MAP_0F3A ? (enum opcode_map)map : MAP_0F38; /* maps 5 and 6: only ModRM */
	d->failed |= map == 0 || map == 4 || map > 6;
}

/* AMD's XOP looks like a pop to memory (8f) with an extended opcode. After ModRM, map 8 has an
 * imm8, map 9 nothing, map 10 an imm32. */
static bool insn_is_xop(const struct decoder *d)
{
	return d->at < d->end && (*d->at & 0x1f) >= 8 && (*d->at & 0x1f) <= 10;
}

static void insn_take_xop_opcode(struct decoder *d)
{
	d->map = (enum opcode_map)(MAP_XOP8 + (insn_take(d, 1) & 0x1f) - 8);
	d->vector = true;
	insn_take(d, 1);
	d->op = (uint8_t)insn_take(d, 1);
}

static void insn_take_escaped_opcode(struct decoder *d)
{
	d->map = MAP_0F;
	d->op = (uint8_t)insn_take(d, 1);
	if (d->op != 0x38 && d->op != 0x3a)
		return;
	d->map = d->op == 0x38 ? MAP_0F38 : MAP_0F3A;
	d->op = (uint8_t)insn_take(d, 1);
}

static void insn_take_opcode(struct decoder *d)
{
	uint8_t b = (uint8_t)insn_take(d, 1);

	while (!d->failed && one_byte[b] == 'p') {
		d->operand16 |= b == 0x66;
		d->address32 |= b == 0x67;
		d->rex = (b & 0xf0) == 0x40 ? b : 0; /* applies only right before the opcode */
		b = (uint8_t)insn_take(d, 1);
	}
	d->op = b;
	if (b == 0x0f)
		insn_take_escaped_opcode(d);
	else if (b == 0xc4 || b == 0xc5 || b == 0x62)
		insn_take_vector_opcode(d, b);
	else if (b == 0x8f && insn_is_xop(d))
		insn_take_xop_opcode(d);
}

/* ---- operands ---- */

static void insn_take_modrm(struct decoder *d)
{
	unsigned mod, rm;

	d->has_modrm = true;
	d->modrm = (uint8_t)insn_take(d, 1);
	mod = d->modrm >> 6;
	rm = d->modrm & 7;
	d->has_sib = mod != 3 && rm == 4;
	if (d->has_sib)
		d->sib = (uint8_t)insn_take(d, 1);
	if (mod == 1)
		d->disp = insn_take_signed(d, 1);
	else if (mod == 2 || (mod == 0 && (rm == 5 || (d->has_sib && (d->sib & 7) == 5))))
		d->disp = insn_take_signed(d, 4);
}

static char insn_operands_of(const struct decoder *d)
{
	switch (d->map) {
	case MAP_ONE_BYTE: return one_byte[d->op];
	case MAP_0F: return two_bytes[d->op];
	case MAP_0F38:
	case MAP_XOP9: return 'M';
	case MAP_0F3A:
	case MAP_XOP8: return 'b';
	case MAP_XOP10: return 'z';
	}
	return 'x';
}

static size_t insn_imm_sz(const struct decoder *d, char operands)
{
	size_t full = d->operand16 && !(d->rex & 8) ? 2 : 4;
	bool is_test = (d->modrm >> 3 & 7) < 2;

	switch (operands) {
	case 'b':
	case 'B':
	case 'J': return 1;
	case 'z':
	case 'Z': return full;
	case 'K': return 4;
	case 'W': return 2;
	case 'E': return 3;
	case 'V': return d->rex & 8 ? 8 : full;
	case 'O': return d->address32 ? 4 : 8;
	case 'g': return is_test ? 1 : 0;
	case 'G': return is_test ? full : 0;
	default: return 0;
	}
}

static void insn_take_operands(struct decoder *d)
{
	char operands = insn_operands_of(d);
	size_t sz;

	if (operands == 'M' || operands == 'b' || operands == 'z' || operands == 'g' ||
	    operands == 'G')
		insn_take_modrm(d);
	sz = insn_imm_sz(d, operands);
	if (sz && !d->failed)
		d->imm = insn_take_signed(d, sz);
	d->failed |= operands == 'x' || operands == 'e' || operands == 'p';
}

/* ---- effects ---- */

/* Return registers by their full numbers. */
static unsigned insn_reg_of(const struct decoder *d)
{
	return (d->modrm >> 3 & 7u) | (d->rex & 4 ? 8 : 0);
}

static bool insn_is_register(const struct decoder *d)
{
	return d->modrm >> 6 == 3;
}

static unsigned insn_rm_of(const struct decoder *d)
{
	return (d->modrm & 7u) | (d->rex & 1 ? 8 : 0);
}

/* Returns the register of an address that is this register + .disp, or 16 for other addresses. */
static unsigned insn_base_of(const struct decoder *d)
{
	unsigned mod = d->modrm >> 6;

	if (mod == 3 || (mod == 0 && (d->modrm & 7) == 5) || d->address32)
		return 16;
	if (!d->has_sib)
		return insn_rm_of(d);
	if ((d->sib >> 3 & 7) != 4 || d->rex & 2 || (mod == 0 && (d->sib & 7) == 5))
		return 16;
	return (d->sib & 7u) | (d->rex & 1 ? 8 : 0);
}

static enum insn_kind insn_lose(unsigned reg)
{
	return reg == SP ? INSN_LOSE_SP : reg == FP ? INSN_LOSE_FP : INSN_OTHER;
}

static enum insn_kind insn_lose_operand(const struct decoder *d)
{
	return insn_is_register(d) ? insn_lose(insn_rm_of(d)) : INSN_OTHER;
}

/* A copy or a sum: to = from + imm. */
static enum insn_kind insn_assign(struct insn *i, unsigned to, unsigned from, int64_t imm)
{
	i->imm = imm;
	if (to == SP && (from == SP || from == FP))
		return from == SP ? INSN_MOVE_SP : INSN_SP_FROM_FP;
	return to == FP && from == SP ? INSN_FP_FROM_SP : insn_lose(to);
}

static enum insn_kind insn_move(struct insn *i, const struct decoder *d)
{
	bool to_reg = d->op & 2;

	i->imm = d->disp;
	if (d->rex & 8 && insn_reg_of(d) == FP && insn_base_of(d) == SP)
		return to_reg ? INSN_LOAD_FP : INSN_SAVE_FP;
	if (insn_is_register(d) && d->rex & 8)
		return insn_assign(i, to_reg ? insn_reg_of(d) : insn_rm_of(d),
				   to_reg ? insn_rm_of(d) : insn_reg_of(d), 0);
	return to_reg ? insn_lose(insn_reg_of(d)) : insn_lose_operand(d);
}

static bool insn_is_cleared(const struct decoder *d)
{
	bool same = insn_is_register(d) && insn_reg_of(d) == insn_rm_of(d);

	return same && ((d->op & 0xf8) == 0x30 || (d->op & 0xf8) == 0x28); /* xor, sub */
}

/* 00 … 3f: add or adc and sbb and sub xor cmp, in six forms each. */
static enum insn_kind insn_arithmetic(const struct decoder *d)
{
	unsigned form = d->op & 7, to = form & 2 ? insn_reg_of(d) : insn_rm_of(d);

	if (d->op >= 0x38 || form > 3 || !(form & 1))
		return INSN_OTHER;
	if (!(form & 2) && !insn_is_register(d))
		return INSN_OTHER;
	return to == FP && insn_is_cleared(d) ? INSN_CLEAR_FP : insn_lose(to);
}

/* 81, 83: the same operations with an immediate. */
static enum insn_kind insn_immediate_arithmetic(struct insn *i, const struct decoder *d)
{
	unsigned what = d->modrm >> 3 & 7;

	if (!insn_is_register(d) || what == 7)
		return INSN_OTHER;
	if (!(d->rex & 8) || (what != 0 && what != 5))
		return insn_lose(insn_rm_of(d));
	return insn_assign(i, insn_rm_of(d), insn_rm_of(d), what == 0 ? d->imm : -d->imm);
}

static enum insn_kind insn_push_pop(struct insn *i, const struct decoder *d)
{
	unsigned reg = (d->op & 7u) | (d->rex & 1 ? 8 : 0);

	i->fp = reg == FP;
	if (d->operand16 || (d->op >= 0x58 && reg == SP))
		return INSN_LOSE_SP;
	return d->op < 0x58 ? INSN_PUSH : INSN_POP;
}

/* ff: inc, dec, call, call far, jmp, jmp far, push. */
static enum insn_kind insn_group_ff(const struct decoder *d)
{
	switch (d->modrm >> 3 & 7) {
	case 0:
	case 1: return insn_lose_operand(d);
	case 2:
	case 3: return INSN_CALL;
	case 4:
	case 5: return INSN_JUMP_ANY;
	case 6: return INSN_PUSH;
	default: return INSN_OTHER;
	}
}

static enum insn_kind insn_branch(struct insn *i, const struct decoder *d, enum insn_kind kind)
{
	i->imm = d->imm;
	return kind;
}

/* mov $imm, %reg */
static enum insn_kind insn_set_register(struct insn *i, const struct decoder *d, unsigned reg)
{
	i->imm = d->imm;
	return reg == 0 ? INSN_SET_EAX : insn_lose(reg);
}

static enum insn_kind insn_one_byte_kind(struct insn *i, const struct decoder *d)
{
	uint8_t op = d->op;

	if (op < 0x40)
		return insn_arithmetic(d);
	if (op >= 0x50 && op < 0x60)
		return insn_push_pop(i, d);
	if (op >= 0x70 && op < 0x80)
		return insn_branch(i, d, INSN_BRANCH);
	if (op >= 0xb8 && op < 0xc0)
		return insn_set_register(i, d, (op & 7u) | (d->rex & 1 ? 8 : 0));
	if (op > 0x90 && op < 0x98) /* xchg %rax */
		return insn_lose((op & 7u) | (d->rex & 1 ? 8 : 0));
	switch (op) {
	case 0x63: return insn_lose(insn_reg_of(d));
	case 0x68:
	case 0x6a:
	case 0x9c: return INSN_PUSH; /* imm, flags */
	case 0x69:
	case 0x6b: return insn_lose(insn_reg_of(d));
	case 0x81:
	case 0x83: return insn_immediate_arithmetic(i, d);
	case 0x87: /* xchg */
		if (insn_lose(insn_reg_of(d)) != INSN_OTHER)
			return insn_lose(insn_reg_of(d));
		return insn_lose_operand(d);
	case 0x89:
	case 0x8b: return insn_move(i, d);
	case 0x8d:
		return insn_assign(i, insn_reg_of(d), d->rex & 8 ? insn_base_of(d) : 16, d->disp);
	case 0x8f: return d->modrm >> 3 & 7 ? INSN_LOSE_SP : INSN_POP;
	case 0x9d: return INSN_POP;
	case 0x90: return d->rex & 1 ? INSN_OTHER : INSN_NOP;
	case 0xc2:
	case 0xc3: return INSN_RETURN;
	case 0xc7: return insn_is_register(d) ? insn_set_register(i, d, insn_rm_of(d)) : INSN_OTHER;
	case 0xc1:
	case 0xd1:
	case 0xd3: return insn_lose_operand(d);
	case 0xf7: /* test, not, neg, mul, div: two of them write their operand */
		return (d->modrm >> 4 & 3) == 1 ? insn_lose_operand(d) : INSN_OTHER;
	case 0xc8: return INSN_LOSE_SP; /* enter */
	case 0xc9: return INSN_LEAVE;
	case 0xcc: return INSN_NOP;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3: return insn_branch(i, d, INSN_BRANCH);
	case 0xe8: return insn_branch(i, d, INSN_CALL);
	case 0xe9:
	case 0xeb: return insn_branch(i, d, INSN_JUMP);
	case 0xf4: return INSN_STOP;
	case 0xff: return insn_group_ff(d);
	default: return INSN_OTHER;
	}
}

static enum insn_kind insn_two_byte_kind(struct insn *i, const struct decoder *d)
{
	if (d->op >= 0x80 && d->op < 0x90)
		return insn_branch(i, d, INSN_BRANCH);
	if (d->op >= 0x40 && d->op < 0x50)
		return insn_lose(insn_reg_of(d)); /* cmov */
	if (d->op >= 0xc8 && d->op < 0xd0)
		return insn_lose((d->op & 7u) | (d->rex & 1 ? 8 : 0)); /* bswap */
	switch (d->op) {
	case 0x05: return INSN_SYSCALL;
	case 0x0b: return INSN_STOP; /* ud2 */
	case 0x1f: return INSN_NOP;
	case 0xa0:
	case 0xa8: return INSN_PUSH; /* fs, gs */
	case 0xa1:
	case 0xa9: return INSN_POP;
	case 0xaf:
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf: return insn_lose(insn_reg_of(d)); /* imul, movzx, popcnt, bsf, bsr, movsx */
	default: return INSN_OTHER;
	}
}

/* BMI1 and BMI2 (andn, mulx, rorx, pext …) write one or two general registers. */
static enum insn_kind insn_vector_kind(const struct decoder *d)
{
	bool general = (d->map == MAP_0F38 && d->op >= 0xf2 && d->op <= 0xf7) ||
		       (d->map == MAP_0F3A && d->op == 0xf0);

	if (!general)
		return INSN_OTHER;
	return insn_lose(insn_reg_of(d)) != INSN_OTHER ? insn_lose(insn_reg_of(d))
						       : insn_lose(d->vvvv);
}

static enum insn_kind insn_kind_of(struct insn *i, const struct decoder *d)
{
	if (d->vector)
		return insn_vector_kind(d);
	if (d->map == MAP_ONE_BYTE)
		return insn_one_byte_kind(i, d);
	return d->map == MAP_0F ? insn_two_byte_kind(i, d) : INSN_OTHER;
}

size_t insn__decode(struct insn *i, const uint8_t *code, size_t sz)
{
	struct decoder d = { .at = code, .end = code + (sz < INSN_SZ_MAX ? sz : INSN_SZ_MAX) };

	*i = (struct insn){ .kind = INSN_OTHER };
	insn_take_opcode(&d);
	if (!d.failed)
		insn_take_operands(&d);
	if (d.failed)
		return 0;
	i->kind = insn_kind_of(i, &d);
	i->sz = (uint8_t)(d.at - code);
	return i->sz;
}
