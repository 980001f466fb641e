// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/gocode.h"

/* Arm ARM (DDI 0487), C6.2. A mask leaves out the operands that may differ. */
struct pattern {
	uint32_t mask, bits;
};

static const struct pattern mov_g_reg = { 0xffe0ffff, 0xaa0003fc };  /* mov x28, xN */
static const struct pattern ldr_g = { 0xffc0001f, 0xf940001c };	     /* ldr x28, [xN, #n] */
static const struct pattern mov_sp_reg = { 0xfffffc1f, 0x9100001f }; /* mov sp, xN */
static const struct pattern mov_x20_sp = { 0xffffffff, 0x910003f4 };
static const struct pattern mov_sp_x20 = { 0xffffffff, 0x9100029f };
static const struct pattern push_link = { 0xffe00fff, 0xf8000ffe }; /* str x30, [sp, #-n]! */
static const struct pattern sub_sp = { 0xffc003ff, 0xd10003ff };    /* sub sp, sp, #n */
static const struct pattern add_sp = { 0xffc003ff, 0x910003ff };    /* add sp, sp, #n */

#define INSN	 4
#define X20	 20
#define PUSHED	 2 /* words that the signal handler pushes: the link register, and padding */
#define PREEMPT	 2 /* instructions in which runtime.asyncPreempt makes its frame */
#define PROLOGUE 3 /* instructions that save x30 and x29, and set x29 */

static uint32_t gocode_insn_at(const uint8_t *code, size_t at)
{
	uint32_t insn;

	memcpy(&insn, code + at, sizeof(insn));
	return le32toh(insn);
}

static bool gocode_is_insn(const uint8_t *code, size_t at, struct pattern p)
{
	return (gocode_insn_at(code, at) & p.mask) == p.bits;
}

static bool gocode_sets_g(const uint8_t *code, size_t at)
{
	return gocode_is_insn(code, at, mov_g_reg) || gocode_is_insn(code, at, ldr_g);
}

/* Returns the address after the first such instruction from `at` on, or 0. */
static size_t gocode_behind(const uint8_t *code, size_t at, size_t sz, struct pattern p)
{
	for (; at + INSN <= sz; at += INSN)
		if (gocode_is_insn(code, at, p))
			return at + INSN;
	return 0;
}

static size_t gocode_behind_g(const uint8_t *code, size_t at, size_t sz)
{
	for (; at + INSN <= sz; at += INSN)
		if (gocode_sets_g(code, at))
			return at + INSN;
	return 0;
}

/* Covers the code from the instruction that makes g the thread's own goroutine to the one that
 * restores the goroutine's stack. */
static size_t gocode_switch_rows(const uint8_t *code, size_t sz, struct gocode_row *rows)
{
	size_t begin = gocode_behind_g(code, 0, sz),
	       back = begin ? gocode_behind_g(code, begin, sz) : 0;
	size_t end = back ? gocode_behind(code, back, sz, mov_sp_reg) : 0;

	rows[0] = (struct gocode_row){ begin,
				       (end ? end : sz) - begin,
				       { .packed.how = PACKED_SWITCH } };
	return begin && begin < sz;
}

/* Returns the bytes of stack that the instruction takes, or 0. */
static int16_t gocode_frame_sz(const uint8_t *code, size_t at)
{
	uint32_t insn = gocode_insn_at(code, at);

	if (gocode_is_insn(code, at, push_link))
		return (int16_t)((0x200 - (insn >> 12 & 0x1ff)) & 0x1ff);
	return gocode_is_insn(code, at, sub_sp) ? (int16_t)(insn >> 10 & 0xfff) : 0;
}

/* The link register is at the frame's start, and the frame pointer below it. */
static struct wide_rule gocode_frame_rule(int16_t words, int16_t above)
{
	return (struct wide_rule){ .packed = { .how = PACKED_SP,
					       .cfa = (int16_t)(words + above),
					       .fp = (int16_t)(-words - above - 1),
					       .ra = (int16_t)(-words - above) } };
}

static size_t gocode_vdso_rows(const uint8_t *code, size_t sz, struct gocode_row *rows)
{
	size_t begin = gocode_behind(code, 0, sz, mov_x20_sp),
	       end = gocode_behind(code, begin, sz, mov_sp_x20);
	int16_t words = sz < INSN ? 0 : gocode_frame_sz(code, 0) / 8;

	if (!begin || end <= begin || !words)
		return 0;
	rows[0] = (struct gocode_row){ begin, end - begin, gocode_frame_rule(words, 0) };
	rows[0].rule.base = X20;
	return 1;
}

static size_t gocode_leaf_rows(const uint8_t *code, size_t sz, struct gocode_row *rows)
{
	size_t begin = PROLOGUE * INSN, end = gocode_behind(code, begin, sz, add_sp);
	int16_t words = sz < begin ? 0 : gocode_frame_sz(code, 0) / 8;

	if (!end || !words)
		return 0;
	rows[0] = (struct gocode_row){ begin, end - INSN - begin, gocode_frame_rule(words, 0) };
	rows[0].rule.packed.ra = PACKED_RA_LINKED;
	return 1;
}

static size_t gocode_preempt_rows(const uint8_t *code, size_t sz, struct gocode_row *rows)
{
	const struct wide_rule entry = { .packed = { .how = PACKED_SP,
						     .cfa = PUSHED,
						     .fp = PACKED_FP_KEPT,
						     .ra = PACKED_RA_LINKED } };
	int16_t words = 0;
	size_t at = 0;

	for (; at < PREEMPT * INSN && at + INSN < sz && !words; at += INSN)
		words = gocode_frame_sz(code, at) / 8;
	if (!words)
		return 0;
	rows[0] = (struct gocode_row){ 0, at, entry };
	rows[1] = (struct gocode_row){ at, sz - at, gocode_frame_rule(words, PUSHED) };
	rows[0].rule.link = rows[1].rule.link = -PUSHED;
	return 2;
}

size_t gocode__rows(enum gocode_kind kind, const uint8_t *code, size_t sz,
		    struct gocode_row rows[GOCODE_ROWS_MAX])
{
	switch (kind) {
	case GOCODE_SWITCH: return gocode_switch_rows(code, sz, rows);
	case GOCODE_VDSO: return gocode_vdso_rows(code, sz, rows);
	case GOCODE_LEAF: return gocode_leaf_rows(code, sz, rows);
	case GOCODE_PREEMPT: return gocode_preempt_rows(code, sz, rows);
	case GOCODE_NONE: break;
	}
	return 0;
}
