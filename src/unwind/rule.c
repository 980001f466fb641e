// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* A rule in the making: regs[] and operations grow on their own and are joined at the end. */
struct draft {
	struct rule head;
	struct rule_reg regs[EVENT_REG_CNT];
	struct expr_op ops[RULE_OP_MAX];
};

static void finish(const struct draft *d, union rule_room *out)
{
	size_t regs_sz = d->head.reg_cnt * sizeof(d->regs[0]);
	size_t ops_sz = d->head.op_cnt * sizeof(d->ops[0]);

	out->rule = d->head;
	out->rule.sz = (uint32_t)(sizeof(struct rule) + regs_sz + ops_sz);
	memcpy(out->rule.regs, d->regs, regs_sz);
	memcpy((char *)out->rule.regs + regs_sz, d->ops, ops_sz);
}

static int add_expr(struct draft *d, const Dwarf_Op *ops, size_t cnt, struct rule_reg *reg)
{
	struct expr_op compiled[EXPR_OP_MAX];
	int n = expr__compile(ops, cnt, compiled);

	if (n < 0 || n > RULE_OP_MAX - d->head.op_cnt)
		return -EINVAL;
	memcpy(d->ops + d->head.op_cnt, compiled, (size_t)n * sizeof(*compiled));
	reg->off = d->head.op_cnt;
	reg->op_cnt = (uint16_t)n;
	d->head.op_cnt += (uint16_t)n;
	return 0;
}

static bool fits(uint64_t off)
{
	return (int64_t)off == (int32_t)off;
}

static int compile_cfa(struct draft *d, Dwarf_Frame *frame)
{
	struct rule_reg *cfa = &d->head.cfa;
	Dwarf_Op *ops;
	size_t cnt;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || cnt == 0)
		return -EINVAL;
	if (cnt == 1 && ops[0].atom == DW_OP_bregx && fits(ops[0].number2)) {
		if (ops[0].number >= EVENT_REG_CNT)
			return -EINVAL;
		*cfa = (struct rule_reg){ .reg = (uint8_t)ops[0].number,
					  .how = RULE_REG,
					  .off = (int32_t)ops[0].number2 };
		return 0;
	}
	cfa->how = RULE_EXPR;
	return add_expr(d, ops, cnt, cfa);
}

/* libdw says "CFA + n" in one to three operations: call_frame_cfa [plus_uconst n] [stack_value]. */
static bool is_cfa_offset(const Dwarf_Op *ops, size_t cnt, struct rule_reg *reg)
{
	bool value = ops[cnt - 1].atom == DW_OP_stack_value;
	bool plus = cnt > 1 && ops[1].atom == DW_OP_plus_uconst;
	uint64_t off = plus ? ops[1].number : 0;

	if (ops[0].atom != DW_OP_call_frame_cfa || cnt != 1u + plus + value || !fits(off))
		return false;
	reg->how = value ? RULE_VALUE : RULE_AT;
	reg->off = (int32_t)off;
	return true;
}

static int compile_location(struct draft *d, const Dwarf_Op *ops, size_t cnt, struct rule_reg *reg)
{
	if (is_cfa_offset(ops, cnt, reg))
		return 0;
	if (cnt == 1 && ops[0].atom == DW_OP_regx && ops[0].number < EVENT_REG_CNT) {
		reg->how = RULE_REG;
		reg->off = (int32_t)ops[0].number;
		return 0;
	}
	reg->how = ops[cnt - 1].atom == DW_OP_stack_value ? RULE_EXPR : RULE_EXPR_AT;
	return add_expr(d, ops, cnt, reg);
}

static bool is_default_rsp(const struct rule_reg *reg)
{
	return reg->reg == DWARF_RSP && reg->how == RULE_VALUE && reg->off == 0;
}

/*
 * Of the registers that CFI does not mention, those that a call preserves keep their values.
 * libdw's table of them (0.188, x86_64_cfi.c) has 0 where it means rbx, so that it calls rbx
 * undefined; _dl_runtime_resolve's CFA depends on it.
 */
static bool is_kept(int regno)
{
	return regno == DWARF_RBX || regno == DWARF_RSP;
}

static int compile_reg(struct draft *d, Dwarf_Frame *frame, int regno)
{
	struct rule_reg reg = { .reg = (uint8_t)regno };
	Dwarf_Op mem[3], *ops;
	size_t cnt;
	int err;

	if (dwarf_frame_register(frame, regno, mem, &ops, &cnt))
		return -EINVAL;
	if (cnt == 0) {
		if (ops == mem && !is_kept(regno))
			d->head.undefined |= 1u << regno;
		return 0;
	}
	err = compile_location(d, ops, cnt, &reg);
	if (!err && !is_default_rsp(&reg))
		d->regs[d->head.reg_cnt++] = reg;
	return err;
}

int rule__compile(Dwarf_Frame *frame, union rule_room *out)
{
	struct draft d = { 0 };
	bool signal;
	int err;

	if (dwarf_frame_info(frame, NULL, NULL, &signal) != DWARF_RIP)
		return -EINVAL;
	d.head.flags = signal ? RULE_SIGNAL : 0;
	err = compile_cfa(&d, frame);
	for (int reg = DWARF_RIP; reg >= 0 && !err; reg--) /* the return address first */
		err = compile_reg(&d, frame, reg);
	if (err)
		return err;
	if (d.head.undefined >> DWARF_RIP & 1)
		rule__mark(out, RULE_ROOT);
	else if (d.head.reg_cnt == 0 || d.regs[0].reg != DWARF_RIP)
		return -EINVAL; /* a caller at the same pc */
	else
		finish(&d, out);
	return 0;
}

void rule__mark(union rule_room *out, enum rule_flags flags)
{
	finish(&(struct draft){ .head.flags = (uint8_t)flags }, out);
}

void rule__frame_pointer(union rule_room *out)
{
	struct draft d = {
		.head = { .cfa = { .reg = DWARF_RBP, .how = RULE_REG, .off = 16 }, .reg_cnt = 2 },
		.regs = { { .reg = DWARF_RIP, .how = RULE_AT, .off = -8 },
			  { .reg = DWARF_RBP, .how = RULE_AT, .off = -16 } },
	};

	finish(&d, out);
}

/* Appends "the word at rsp + off". */
static void add_rsp_slot(struct draft *d, struct rule_reg *reg, unsigned off)
{
	reg->off = d->head.op_cnt;
	reg->op_cnt = 1;
	d->ops[d->head.op_cnt++] = (struct expr_op){ .atom = DW_OP_breg0 + DWARF_RSP, .a = off };
}

void rule__signal_frame(union rule_room *out)
{
	/* struct ucontext from rsp on: five words, then r8 … r15 rdi rsi rbp rbx rdx rax rcx rsp
	 * rip */
	static const uint8_t saved[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	struct draft d = { .head = { .flags = RULE_SIGNAL, .cfa.how = RULE_EXPR } };

	add_rsp_slot(&d, &d.head.cfa, 40 + 15 * 8);
	d.ops[d.head.op_cnt++].atom = DW_OP_deref;
	d.head.cfa.op_cnt++;
	for (unsigned i = sizeof(saved); i-- > 0;) {
		struct rule_reg *reg = &d.regs[d.head.reg_cnt++];

		*reg = (struct rule_reg){ .reg = saved[i], .how = RULE_EXPR_AT };
		add_rsp_slot(&d, reg, 40 + i * 8);
	}
	finish(&d, out);
}

/* ---- the walk's side ---- */

struct step {
	const struct rule *rule;
	struct expr_env env; /* .regs: the frame's own registers */
};

static int evaluate(const struct step *s, const struct rule_reg *reg, uint64_t *out)
{
	return expr__eval(rule__ops(s->rule) + reg->off, reg->op_cnt, &s->env, out);
}

static int find_cfa(const struct step *s, uint64_t *cfa)
{
	const struct rule_reg *reg = &s->rule->cfa;

	if (reg->how == RULE_EXPR)
		return evaluate(s, reg, cfa);
	if (!regs__has(s->env.regs, reg->reg))
		return -EINVAL;
	*cfa = s->env.regs->v[reg->reg] + (uint64_t)(int64_t)reg->off;
	return 0;
}

static int load(const struct step *s, uint64_t addr, uint64_t *out)
{
	return snapshot__word(s->env.snapshot, addr, out) ? 0 : -EFAULT;
}

static int find_reg(const struct step *s, const struct rule_reg *reg, uint64_t *out)
{
	uint64_t addr = s->env.cfa + (uint64_t)(int64_t)reg->off;
	int err;

	switch ((enum rule_how)reg->how) {
	case RULE_AT: return load(s, addr, out);
	case RULE_VALUE: *out = addr; return 0;
	case RULE_REG:
		*out = s->env.regs->v[reg->off];
		return regs__has(s->env.regs, (unsigned)reg->off) ? 0 : -EINVAL;
	case RULE_EXPR: return evaluate(s, reg, out);
	case RULE_EXPR_AT: err = evaluate(s, reg, &addr); return err ? err : load(s, addr, out);
	}
	return -EINVAL;
}

/*
 * A slot below the stack pointer that is not in the snapshot belongs to a register that has been
 * popped already (epilogues do not always say so): its value is the caller's.
 */
static bool is_popped(const struct step *s, const struct rule_reg *reg)
{
	return reg->how == RULE_AT &&
	       s->env.cfa + (uint64_t)(int64_t)reg->off < s->env.regs->v[DWARF_RSP];
}

static int find_regs(const struct step *s, struct regs *out)
{
	for (size_t i = 0; i < s->rule->reg_cnt; i++) {
		const struct rule_reg *reg = &s->rule->regs[i];
		int err = find_reg(s, reg, &out->v[reg->reg]);

		if (!err) {
			out->valid |= 1u << reg->reg;
			continue;
		}
		if (reg->reg == DWARF_RIP)
			return err;
		out->v[reg->reg] = s->env.regs->v[reg->reg];
		if (!is_popped(s, reg))
			out->valid &= ~(1u << reg->reg);
	}
	return 0;
}

int rule__apply(const struct rule *rule, const struct snapshot *snapshot, struct regs *regs,
		uint64_t *cfa)
{
	struct regs old = *regs;
	struct step s = { rule, { &old, snapshot, 0 } };
	int err;

	*cfa = 0;
	err = find_cfa(&s, &s.env.cfa);
	if (err)
		return err;
	*cfa = regs->v[DWARF_RSP] = s.env.cfa;
	regs->valid = (regs->valid | 1u << DWARF_RSP) & ~rule->undefined;
	return find_regs(&s, regs);
}
