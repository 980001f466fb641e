/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to get from a frame to its caller: one compiled row of a call-frame table. */
#ifndef CFI_FULLRULE_H
#define CFI_FULLRULE_H

#include "cfi/expr.h"
#include "cfi/packedrule.h"

enum rule_flags {
	RULE_ROOT = 1 << 0,	 /* no caller: the return address is undefined */
	RULE_SIGNAL = 1 << 1,	 /* a signal trampoline: the caller was interrupted */
	RULE_SWITCH = 1 << 2,	 /* the caller is on another stack; CFI does not give its address */
	RULE_UNWINDING = 1 << 3, /* see PACKED_UNWINDING */
	RULE_PLANTED =
		1 << 4, /* the return address was written there; no call instruction precedes it */
	RULE_LOCK_STUB = 1 << 5,   /* applies to callers only: see fullrule_mend_lock_stub() */
	RULE_INTERRUPTED = 1 << 6, /* the caller called nothing: its pc is where it continues */
};

enum rule_how {
	RULE_AT,      /* saved at CFA + off */
	RULE_VALUE,   /* is CFA + off */
	RULE_REG,     /* is in register `off` */
	RULE_EXPR_AT, /* saved at the address that ops[off] … compute */
	RULE_EXPR,    /* is the value that ops[off] … compute */
};

struct rule_reg {
	/* The caller's register, and enum rule_how. */
	uint8_t reg, how;
	uint16_t op_cnt;
	int32_t off; /* for expressions, the index of the first operation */
};

/*
 * One block of memory without pointers and padding, so that equal rules are equal bytes. The
 * caller's stack pointer is the CFA unless regs[] has it. A register that is neither in regs[] nor
 * in `undefined` keeps its value. regs[0] is the program counter, except for RULE_ROOT and
 * RULE_SWITCH, which have none.
 */
struct full_rule {
	uint32_t sz; /* of the block */
	uint8_t flags, reg_cnt;
	uint16_t op_cnt;
	uint64_t undefined;	/* one bit per register that cannot be recovered */
	struct rule_reg cfa;	/* RULE_REG: .reg + .off; RULE_EXPR */
	struct rule_reg regs[]; /* reg_cnt, then struct expr_op[op_cnt] */
};

#define RULE_OP_MAX 256 /* operations in one rule: __restore_rt needs 36 */

/* Room for the largest rule. */
union rule_room {
	struct full_rule rule;
	uint64_t words[2 + 1 + MACHINE_REG_MAX + RULE_OP_MAX * sizeof(struct expr_op) / 8 + 1];
};

/* Compiles libdw's row. Returns 0, or -EINVAL if the row cannot be used: no CFA, another machine's
 * registers, invalid rules. */
int full_rule__compile(Dwarf_Frame *, const struct machine *, union rule_room *out);

/* The rule of an override: PACKED_ROOT, PACKED_SWITCH, PACKED_SP or PACKED_FP, and what no packed
 * rule can express. */
struct wide_rule {
	struct packed_rule packed;
	uint8_t base; /* not 0: the register to which the CFA is relative */
	/* Not 0: the caller was interrupted, and its link register is saved at CFA + 8 * link. */
	int16_t link;
};

void full_rule__widen(const struct wide_rule *, const struct machine *, union rule_room *out);

/* Returns the rule for a table: PACKED_ELSEWHERE if it cannot be packed. */
static inline struct packed_rule wide_rule__packed(const struct wide_rule *r)
{
	return r->base || r->link ? (struct packed_rule){ .how = PACKED_ELSEWHERE } : r->packed;
}

/* Makes the rule of the kernel's rt_sigframe, at the first instruction of the trampoline. */
void full_rule__signal_frame(const struct machine *, union rule_room *out);

/* Like full_rule__signal_frame(), as a packed rule. */
struct packed_rule full_rule__packed_signal_frame(const struct machine *);

/*
 * Replaces `regs` by the caller's registers; the program counter becomes the return address.
 * Returns 0, -EFAULT if the return address (or the CFA) is not in the snapshot, or -EINVAL if it
 * cannot be computed. `*cfa` is 0 if computing the CFA failed.
 */
int full_rule__apply(const struct full_rule *, const struct snapshot *, struct regs *,
		     uint64_t *cfa);

static inline const struct expr_op *full_rule__ops(const struct full_rule *r)
{
	return (const struct expr_op *)(const void *)(r->regs + r->reg_cnt);
}

#endif
