// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/fullrule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* A rule under construction: regs[] and operations grow separately and are joined at the end. */
struct draft {
	const struct machine *machine;
	struct full_rule head;
	struct rule_reg regs[MACHINE_REG_MAX];
	struct expr_op ops[RULE_OP_MAX];
};

static void fullrule_finish(const struct draft *d, union rule_room *out)
{
	size_t regs_sz = d->head.reg_cnt * sizeof(d->regs[0]);
	size_t ops_sz = d->head.op_cnt * sizeof(d->ops[0]);

	out->rule = d->head;
	out->rule.sz = (uint32_t)(sizeof(struct full_rule) + regs_sz + ops_sz);
	memcpy(out->rule.regs, d->regs, regs_sz);
	memcpy((char *)out->rule.regs + regs_sz, d->ops, ops_sz);
}

static int fullrule_add_expr(struct draft *d, const Dwarf_Op *ops, size_t cnt, struct rule_reg *reg)
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

static bool fullrule_fits(uint64_t off)
{
	return (int64_t)off == (int32_t)off;
}

static int fullrule_compile_cfa(struct draft *d, Dwarf_Frame *frame)
{
	struct rule_reg *cfa = &d->head.cfa;
	Dwarf_Op *ops;
	size_t cnt;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || cnt == 0)
		return -EINVAL;
	if (cnt == 1 && ops[0].atom == DW_OP_bregx && fullrule_fits(ops[0].number2)) {
		if (ops[0].number >= d->machine->reg_cnt)
			return -EINVAL;
		*cfa = (struct rule_reg){ .reg = (uint8_t)ops[0].number,
					  .how = RULE_REG,
					  .off = (int32_t)ops[0].number2 };
		return 0;
	}
	cfa->how = RULE_EXPR;
	return fullrule_add_expr(d, ops, cnt, cfa);
}

/* Returns whether the operations are libdw's form of "CFA + n": call_frame_cfa [plus_uconst n]
 * [stack_value]. */
static bool fullrule_is_cfa_offset(const Dwarf_Op *ops, size_t cnt, struct rule_reg *reg)
{
	bool value = ops[cnt - 1].atom == DW_OP_stack_value;
	bool plus = cnt > 1 && ops[1].atom == DW_OP_plus_uconst;
	uint64_t off = plus ? ops[1].number : 0;

	if (ops[0].atom != DW_OP_call_frame_cfa || cnt != 1u + plus + value || !fullrule_fits(off))
		return false;
	reg->how = value ? RULE_VALUE : RULE_AT;
	reg->off = (int32_t)off;
	return true;
}

static int fullrule_compile_location(struct draft *d, const Dwarf_Op *ops, size_t cnt,
				     struct rule_reg *reg)
{
	if (fullrule_is_cfa_offset(ops, cnt, reg))
		return 0;
	if (cnt == 1 && ops[0].atom == DW_OP_regx && ops[0].number < d->machine->reg_cnt) {
		reg->how = RULE_REG;
		reg->off = (int32_t)ops[0].number;
		return 0;
	}
	reg->how = ops[cnt - 1].atom == DW_OP_stack_value ? RULE_EXPR : RULE_EXPR_AT;
	return fullrule_add_expr(d, ops, cnt, reg);
}

/* Returns whether the rule is the default, which is left out: the caller's stack pointer is the
 * CFA. */
static bool fullrule_is_default_sp(const struct draft *d, const struct rule_reg *reg)
{
	return reg->reg == d->machine->sp && reg->how == RULE_VALUE && reg->off == 0;
}

/* The rule of the return address column gives the program counter. The call overwrote the link
 * register, if there is one. */
static int fullrule_compile_return_address(struct draft *d, struct rule_reg reg)
{
	const struct machine *m = d->machine;

	if (machine__links(m))
		d->head.undefined |= 1ull << m->ra;
	reg.reg = (uint8_t)m->pc;
	d->regs[d->head.reg_cnt++] = reg;
	return 0;
}

/* The column has no rule: the return address is still in the link register (`kept`), or lost. */
static int fullrule_compile_no_return_address(struct draft *d, bool kept)
{
	struct rule_reg in_link = { .how = RULE_REG, .off = d->machine->ra };

	if (kept && !machine__links(d->machine))
		return -EINVAL; /* the caller would have the same pc */
	if (kept)
		return fullrule_compile_return_address(d, in_link);
	d->head.flags = RULE_ROOT;
	return 0;
}

/*
 * Registers that CFI does not mention keep their values if a call preserves them.
 * libdw's table of them (0.188, x86_64_cfi.c) has 0 instead of the number of rbx, so libdw calls
 * rbx undefined; the CFA of _dl_runtime_resolve depends on it.
 */
static int fullrule_compile_reg(struct draft *d, Dwarf_Frame *frame, int regno)
{
	struct rule_reg reg = { .reg = (uint8_t)regno };
	bool is_ra = regno == d->machine->ra;
	Dwarf_Op mem[3], *ops;
	size_t cnt;
	int err;

	if (dwarf_frame_register(frame, regno, mem, &ops, &cnt))
		return -EINVAL;
	if (cnt == 0 && is_ra)
		return fullrule_compile_no_return_address(d, ops != mem);
	if (cnt == 0) {
		if (ops == mem && !(d->machine->kept >> regno & 1))
			d->head.undefined |= 1ull << regno;
		return 0;
	}
	err = fullrule_compile_location(d, ops, cnt, &reg);
	if (err || fullrule_is_default_sp(d, &reg))
		return err;
	if (is_ra)
		return fullrule_compile_return_address(d, reg);
	d->regs[d->head.reg_cnt++] = reg;
	return 0;
}

#define LOCK_STUB_SZ 128 /* bytes of stack that the stub skips: the red zone */

/*
 * The lock stubs of glibc up to 2.19 (_L_lock_*, lowlevellock.h: LLL_STUB_UNWIND_INFO_START) are
 * parts of the functions that lock, called into with `sub $128, %rsp`. Their CFI computes the place
 * in the function where execution continues, but the CFA's offset has the wrong sign: the CFA is
 * above the stack pointer.
 */
static bool fullrule_mend_lock_stub(struct draft *d)
{
	struct rule_reg *cfa = &d->head.cfa;
	bool is_stub = cfa->how == RULE_REG && cfa->reg == d->machine->sp &&
		       cfa->off == -LOCK_STUB_SZ && d->head.reg_cnt && d->regs[0].how == RULE_EXPR;

	if (is_stub)
		cfa->off = LOCK_STUB_SZ;
	return is_stub;
}

#define PLT_PUSHED 16 /* bytes: x16 and x30 */

/*
 * glibc's _dl_runtime_resolve() for AArch64 (dl-trampoline.S) has the return address above the CFA:
 * the PLT pushed it there, and the CFI counts what the PLT pushed to the frame of the caller.
 */
static bool fullrule_mend_plt_resolver(struct draft *d)
{
	bool is_resolver = machine__links(d->machine) && d->head.cfa.how == RULE_REG &&
			   d->head.reg_cnt && d->regs[0].how == RULE_AT && d->regs[0].off >= 0;

	if (!is_resolver)
		return false;
	d->head.cfa.off += PLT_PUSHED;
	for (size_t i = 0; i < d->head.reg_cnt; i++)
		if (d->regs[i].how == RULE_AT)
			d->regs[i].off -= PLT_PUSHED;
	return true;
}

static bool fullrule_saves_eh_data(const struct draft *d)
{
	for (size_t i = 0; i < d->head.reg_cnt; i++)
		if (d->regs[i].reg == MACHINE_EH_DATA_REG && d->regs[i].how == RULE_AT)
			return true;
	return false;
}

int full_rule__compile(Dwarf_Frame *frame, const struct machine *machine, union rule_room *out)
{
	struct draft d = { .machine = machine };
	bool signal;
	int err;

	if (dwarf_frame_info(frame, NULL, NULL, &signal) != machine->ra)
		return -EINVAL;
	d.head.flags = signal ? RULE_SIGNAL : 0;
	err = fullrule_compile_cfa(&d, frame);
	if (!err)
		err = fullrule_compile_reg(&d, frame, machine->ra);
	if (err)
		return err;
	if (d.head.flags & RULE_ROOT) {
		fullrule_finish(&(struct draft){ .head.flags = RULE_ROOT }, out);
		return 0;
	}
	for (int reg = 0; reg < machine->reg_cnt && !err; reg++)
		if (reg != machine->ra && reg != machine->pc)
			err = fullrule_compile_reg(&d, frame, reg);
	if (!err && !signal && !fullrule_mend_plt_resolver(&d) && fullrule_saves_eh_data(&d))
		d.head.flags |= RULE_UNWINDING;
	if (!err && fullrule_mend_lock_stub(&d))
		d.head.flags |= RULE_LOCK_STUB;
	if (!err)
		fullrule_finish(&d, out);
	return err;
}

static void fullrule_add_saved(struct draft *d, uint16_t reg, int16_t words)
{
	d->regs[d->head.reg_cnt++] =
		(struct rule_reg){ .reg = (uint8_t)reg, .how = RULE_AT, .off = words * 8 };
}

void full_rule__widen(const struct wide_rule *wide, const struct machine *m, union rule_room *out)
{
	const struct packed_rule flat = wide->packed;
	struct draft d = { .machine = m };
	uint16_t base = flat.how == PACKED_SP ? m->sp : m->fp;

	if (flat.how == PACKED_ROOT || flat.how == PACKED_SWITCH) {
		d.head.flags = flat.how == PACKED_ROOT ? RULE_ROOT : RULE_SWITCH;
		fullrule_finish(&d, out);
		return;
	}
	d.head.cfa = (struct rule_reg){ .reg = wide->base ? wide->base : (uint8_t)base,
					.how = RULE_REG,
					.off = flat.cfa * 8 };
	if (flat.ra == PACKED_RA_LINKED)
		fullrule_compile_no_return_address(&d, true);
	else
		fullrule_add_saved(&d, m->pc, flat.ra);
	if (flat.fp != PACKED_FP_KEPT)
		fullrule_add_saved(&d, m->fp, flat.fp);
	if (wide->link) {
		d.head.flags |= RULE_INTERRUPTED;
		fullrule_add_saved(&d, m->ra, wide->link);
	}
	fullrule_finish(&d, out);
}

/* Appends the expression "sp + off". */
static void fullrule_add_sp_plus(struct draft *d, struct rule_reg *reg, unsigned off)
{
	reg->off = d->head.op_cnt;
	reg->op_cnt = 1;
	d->ops[d->head.op_cnt++] =
		(struct expr_op){ .atom = (uint64_t)DW_OP_breg0 + d->machine->sp, .a = off };
}

/* Where the kernel saved registers: one word each, from `off` above the stack pointer. */
struct signal_frame {
	unsigned off;
	uint8_t reg_cnt, regs[MACHINE_REG_MAX];
};

/* struct ucontext: five words, then struct sigcontext (arch/x86/include/uapi/asm). */
static const struct signal_frame signal_x86_64 = {
	.off = 40,
	.reg_cnt = 17,
	.regs = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 },
};

/* 128 bytes of siginfo, 176 of struct ucontext, one word of struct sigcontext (arch/arm64). */
static const struct signal_frame signal_aarch64 = {
	.off = 128 + 176 + 8,
	.reg_cnt = 33,
	.regs = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
		  17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

static const struct signal_frame *signal_frame_of(const struct machine *m)
{
	return m == &machine_x86_64 ? &signal_x86_64 : &signal_aarch64;
}

/* Returns the saved place of a register, in words from the stack pointer. */
static int16_t fullrule_find_saved(const struct signal_frame *f, uint16_t reg)
{
	const uint8_t *at = memchr(f->regs, reg, f->reg_cnt);

	return (int16_t)(f->off / 8 + (unsigned)(at - f->regs));
}

struct packed_rule full_rule__packed_signal_frame(const struct machine *m)
{
	const struct signal_frame *f = signal_frame_of(m);

	return (struct packed_rule){ .how = PACKED_SIGNAL,
				     .cfa = fullrule_find_saved(f, m->sp),
				     .fp = fullrule_find_saved(f, m->fp),
				     .ra = fullrule_find_saved(f, m->pc) };
}

void full_rule__signal_frame(const struct machine *m, union rule_room *out)
{
	const struct signal_frame *f = signal_frame_of(m);
	struct draft d = { .machine = m, .head = { .flags = RULE_SIGNAL, .cfa.how = RULE_EXPR } };

	for (unsigned i = f->reg_cnt; i-- > 0;) { /* the program counter first */
		struct rule_reg *reg = &d.regs[d.head.reg_cnt++];

		*reg = (struct rule_reg){ .reg = f->regs[i], .how = RULE_EXPR_AT };
		fullrule_add_sp_plus(&d, reg, f->off + i * 8);
		if (f->regs[i] == m->sp)
			d.head.cfa.off = reg->off;
	}
	fullrule_add_sp_plus(&d, &d.head.cfa, (unsigned)d.ops[d.head.cfa.off].a);
	d.ops[d.head.op_cnt++].atom = DW_OP_deref;
	d.head.cfa.op_cnt++;
	fullrule_finish(&d, out);
}

/* ---- applying a rule ---- */

struct step {
	const struct full_rule *rule;
	struct expr_env env; /* .regs: the registers of the frame itself */
};

static int fullrule_evaluate(const struct step *s, const struct rule_reg *reg, uint64_t *out)
{
	return expr__eval(full_rule__ops(s->rule) + reg->off, reg->op_cnt, &s->env, out);
}

static int fullrule_find_cfa(const struct step *s, uint64_t *cfa)
{
	const struct rule_reg *reg = &s->rule->cfa;

	if (reg->how == RULE_EXPR)
		return fullrule_evaluate(s, reg, cfa);
	if (!regs__has(s->env.regs, reg->reg))
		return -EINVAL;
	*cfa = s->env.regs->v[reg->reg] + (uint64_t)(int64_t)reg->off;
	return 0;
}

static int fullrule_load(const struct step *s, uint64_t addr, uint64_t *out)
{
	return snapshot__word(s->env.snapshot, addr, out) ? 0 : -EFAULT;
}

static int fullrule_find_reg(const struct step *s, const struct rule_reg *reg, uint64_t *out)
{
	uint64_t addr = s->env.cfa + (uint64_t)(int64_t)reg->off;
	int err;

	switch ((enum rule_how)reg->how) {
	case RULE_AT: return fullrule_load(s, addr, out);
	case RULE_VALUE: *out = addr; return 0;
	case RULE_REG:
		*out = s->env.regs->v[reg->off];
		return regs__has(s->env.regs, (unsigned)reg->off) ? 0 : -EINVAL;
	case RULE_EXPR: return fullrule_evaluate(s, reg, out);
	case RULE_EXPR_AT:
		err = fullrule_evaluate(s, reg, &addr);
		return err ? err : fullrule_load(s, addr, out);
	}
	return -EINVAL;
}

/*
 * A slot below the stack pointer that is not in the snapshot belongs to a register that has been
 * popped already (CFI of epilogues does not always say so): the register has the caller's value.
 */
static bool fullrule_is_popped(const struct step *s, const struct rule_reg *reg)
{
	return reg->how == RULE_AT &&
	       s->env.cfa + (uint64_t)(int64_t)reg->off < s->env.regs->v[s->env.regs->machine->sp];
}

static int fullrule_find_regs(const struct step *s, struct regs *out)
{
	for (size_t i = 0; i < s->rule->reg_cnt; i++) {
		const struct rule_reg *reg = &s->rule->regs[i];
		int err = fullrule_find_reg(s, reg, &out->v[reg->reg]);

		if (!err) {
			out->valid |= 1ull << reg->reg;
			continue;
		}
		if (reg->reg == out->machine->pc)
			return err;
		out->v[reg->reg] = s->env.regs->v[reg->reg];
		if (!fullrule_is_popped(s, reg))
			out->valid &= ~(1ull << reg->reg);
	}
	return 0;
}

int full_rule__apply(const struct full_rule *rule, const struct snapshot *snapshot,
		     struct regs *regs, uint64_t *cfa)
{
	struct regs old = *regs;
	struct step s = { rule, { &old, snapshot, 0 } };
	uint16_t sp = regs->machine->sp;
	int err;

	*cfa = 0;
	err = fullrule_find_cfa(&s, &s.env.cfa);
	if (err)
		return err;
	*cfa = regs->v[sp] = s.env.cfa;
	regs->valid = (regs->valid | 1ull << sp) & ~rule->undefined;
	return fullrule_find_regs(&s, regs);
}
