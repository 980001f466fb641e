// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/expr.h"

#include <dwarf.h>
#include <errno.h>

#define STACK_MAX 64

struct evaluation {
	const struct expr_env *env;
	uint64_t stack[STACK_MAX];
	size_t depth, next; /* index of the next operation */
	int err;	    /* sticky */
};

static void fail(struct evaluation *m, int err)
{
	if (!m->err)
		m->err = err;
}

static void push(struct evaluation *m, uint64_t v)
{
	if (m->depth == STACK_MAX)
		fail(m, -EINVAL);
	else
		m->stack[m->depth++] = v;
}

static uint64_t pop(struct evaluation *m)
{
	if (m->depth)
		return m->stack[--m->depth];
	fail(m, -EINVAL);
	return 0;
}

static void pick(struct evaluation *m, uint64_t from_top)
{
	if (from_top < m->depth)
		push(m, m->stack[m->depth - 1 - from_top]);
	else
		fail(m, -EINVAL);
}

static void push_reg(struct evaluation *m, uint64_t reg, uint64_t offset)
{
	if (regs__has(m->env->regs, reg))
		push(m, m->env->regs->v[reg] + offset);
	else
		fail(m, -EINVAL);
}

static void deref(struct evaluation *m, uint64_t sz)
{
	const uint8_t *p = snapshot__at(m->env->snapshot, pop(m), sz);
	uint64_t v = 0;

	if (!p) {
		fail(m, -EFAULT);
		return;
	}
	memcpy(&v, p, sz); /* little-endian; expr__compile() checked sz */
	push(m, v);
}

static void swap(struct evaluation *m)
{
	uint64_t top = pop(m), second = pop(m);

	push(m, top);
	push(m, second);
}

static void rotate(struct evaluation *m)
{
	uint64_t top = pop(m), second = pop(m), third = pop(m);

	push(m, top);
	push(m, third);
	push(m, second);
}

static uint64_t divide(struct evaluation *m, uint64_t a, uint64_t b)
{
	if (b == 0) {
		fail(m, -EINVAL);
		return 0;
	}
	return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b); /* INT64_MIN / -1 */
}

static uint64_t modulo(struct evaluation *m, uint64_t a, uint64_t b)
{
	if (b)
		return a % b;
	fail(m, -EINVAL);
	return 0;
}

static uint64_t binary(struct evaluation *m, uint64_t atom, uint64_t a, uint64_t b)
{
	switch (atom) {
	case DW_OP_and: return a & b;
	case DW_OP_or: return a | b;
	case DW_OP_xor: return a ^ b;
	case DW_OP_plus: return a + b;
	case DW_OP_minus: return a - b;
	case DW_OP_mul: return a * b;
	case DW_OP_div: return divide(m, a, b);
	case DW_OP_mod: return modulo(m, a, b);
	case DW_OP_shl: return b < 64 ? a << b : 0;
	case DW_OP_shr: return b < 64 ? a >> b : 0;
	case DW_OP_shra: return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case DW_OP_eq: return a == b;
	case DW_OP_ne: return a != b;
	case DW_OP_lt: return (int64_t)a < (int64_t)b;
	case DW_OP_le: return (int64_t)a <= (int64_t)b;
	case DW_OP_gt: return (int64_t)a > (int64_t)b;
	case DW_OP_ge: return (int64_t)a >= (int64_t)b;
	default: fail(m, -EINVAL); return 0;
	}
}

static void shuffle_or_compute(struct evaluation *m, const struct expr_op *op)
{
	uint64_t top;

	switch (op->atom) {
	case DW_OP_nop: return;
	case DW_OP_dup: pick(m, 0); return;
	case DW_OP_over: pick(m, 1); return;
	case DW_OP_pick: pick(m, op->a); return;
	case DW_OP_drop: pop(m); return;
	case DW_OP_rot: rotate(m); return;
	case DW_OP_abs: top = pop(m), push(m, (int64_t)top < 0 ? -top : top); return;
	case DW_OP_neg: push(m, -pop(m)); return;
	case DW_OP_not: push(m, ~pop(m)); return;
	case DW_OP_plus_uconst: push(m, pop(m) + op->a); return;
	case DW_OP_swap: swap(m); return;
	default: top = pop(m), push(m, binary(m, op->atom, pop(m), top)); return;
	}
}

static void step(struct evaluation *m, const struct expr_op *op)
{
	switch (op->atom) {
	case DW_OP_call_frame_cfa: push(m, m->env->cfa); return;
	case DW_OP_breg0 ... DW_OP_breg31: push_reg(m, op->atom - DW_OP_breg0, op->a); return;
	case DW_OP_bregx: push_reg(m, op->a, op->b); return;
	case DW_OP_lit0 ... DW_OP_lit31: push(m, op->atom - DW_OP_lit0); return;
	case DW_OP_const1u ... DW_OP_consts: push(m, op->a); return;
	case DW_OP_deref: deref(m, 8); return;
	case DW_OP_deref_size: deref(m, op->a); return;
	case DW_OP_skip: m->next = op->a; return;
	case DW_OP_bra:
		if (pop(m))
			m->next = op->a;
		return;
	default: shuffle_or_compute(m, op); return;
	}
}

int expr__eval(const struct expr_op *ops, size_t cnt, const struct expr_env *env, uint64_t *out)
{
	struct evaluation m = { .env = env };

	for (int steps = 0; m.next < cnt && !m.err; steps++) {
		if (steps == EXPR_STEPS_MAX)
			return -EINVAL;
		step(&m, &ops[m.next++]);
	}
	*out = pop(&m);
	return m.err;
}

/* ---- from libdw ---- */

static bool is_jump(uint64_t atom)
{
	return atom == DW_OP_skip || atom == DW_OP_bra;
}

/*
 * Returns the index of the operation that a jump goes to. Its operand counts bytes from the next
 * operation (after the opcode and two bytes of operand). libdw adds operations of its own, with
 * offset 0, before and after the expression's.
 */
static int jump_target(const Dwarf_Op *ops, size_t cnt, size_t jump)
{
	uint64_t to = ops[jump].offset + 3 + (uint64_t)(int16_t)ops[jump].number, end = 0;

	for (size_t i = cnt; i-- > 0;)
		if (ops[i].offset == to && ops[i].atom != DW_OP_stack_value)
			return (int)i;
	for (size_t i = 0; i < cnt; i++)
		end = ops[i].offset > end ? ops[i].offset : end;
	return (int64_t)to > (int64_t)end ? (int)cnt : -EINVAL;
}

static bool known(uint64_t atom)
{
	switch (atom) {
	case DW_OP_deref:
	case DW_OP_const1u ... DW_OP_consts:
	case DW_OP_dup ... DW_OP_rot:  /* dup drop over pick swap rot */
	case DW_OP_abs ... DW_OP_skip: /* arithmetic, plus_uconst, bra, comparisons */
	case DW_OP_lit0 ... DW_OP_lit31:
	case DW_OP_breg0 ... DW_OP_breg31:
	case DW_OP_bregx:
	case DW_OP_deref_size:
	case DW_OP_nop:
	case DW_OP_call_frame_cfa: return true;
	default: return false;
	}
}

static bool operands_ok(const Dwarf_Op *op)
{
	if (op->atom == DW_OP_deref_size)
		return op->number >= 1 && op->number <= 8;
	return known(op->atom);
}

int expr__compile(const Dwarf_Op *ops, size_t cnt, struct expr_op out[EXPR_OP_MAX])
{
	if (cnt && ops[cnt - 1].atom == DW_OP_stack_value)
		cnt--;
	if (!cnt || cnt > EXPR_OP_MAX)
		return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		int to = is_jump(ops[i].atom) ? jump_target(ops, cnt, i) : 0;

		if (to < 0 || !operands_ok(&ops[i]))
			return -EINVAL;
		out[i].atom = ops[i].atom;
		out[i].a = is_jump(ops[i].atom) ? (uint64_t)to : ops[i].number;
		out[i].b = ops[i].number2;
	}
	return (int)cnt;
}
