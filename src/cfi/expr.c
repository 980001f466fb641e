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

static void expr_fail(struct evaluation *m, int err)
{
	if (!m->err)
		m->err = err;
}

static void expr_push(struct evaluation *m, uint64_t v)
{
	if (m->depth == STACK_MAX)
		expr_fail(m, -EINVAL);
	else
		m->stack[m->depth++] = v;
}

static uint64_t expr_pop(struct evaluation *m)
{
	if (m->depth)
		return m->stack[--m->depth];
	expr_fail(m, -EINVAL);
	return 0;
}

static void expr_pick(struct evaluation *m, uint64_t from_top)
{
	if (from_top < m->depth)
		expr_push(m, m->stack[m->depth - 1 - from_top]);
	else
		expr_fail(m, -EINVAL);
}

static void expr_push_reg(struct evaluation *m, uint64_t reg, uint64_t offset)
{
	if (regs__has(m->env->regs, reg))
		expr_push(m, m->env->regs->v[reg] + offset);
	else
		expr_fail(m, -EINVAL);
}

static void expr_deref(struct evaluation *m, uint64_t sz)
{
	const uint8_t *p = snapshot__at(m->env->snapshot, expr_pop(m), sz);
	uint64_t v = 0;

	if (!p) {
		expr_fail(m, -EFAULT);
		return;
	}
	memcpy(&v, p, sz); /* little-endian; expr__compile() checked sz */
	expr_push(m, v);
}

static void expr_swap(struct evaluation *m)
{
	uint64_t top = expr_pop(m), second = expr_pop(m);

	expr_push(m, top);
	expr_push(m, second);
}

static void expr_rotate(struct evaluation *m)
{
	uint64_t top = expr_pop(m), second = expr_pop(m), third = expr_pop(m);

	expr_push(m, top);
	expr_push(m, third);
	expr_push(m, second);
}

static uint64_t expr_divide(struct evaluation *m, uint64_t a, uint64_t b)
{
	if (b == 0) {
		expr_fail(m, -EINVAL);
		return 0;
	}
	return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b); /* INT64_MIN / -1 */
}

static uint64_t expr_modulo(struct evaluation *m, uint64_t a, uint64_t b)
{
	if (b)
		return a % b;
	expr_fail(m, -EINVAL);
	return 0;
}

static uint64_t expr_binary(struct evaluation *m, uint64_t atom, uint64_t a, uint64_t b)
{
	switch (atom) {
	case DW_OP_and: return a & b;
	case DW_OP_or: return a | b;
	case DW_OP_xor: return a ^ b;
	case DW_OP_plus: return a + b;
	case DW_OP_minus: return a - b;
	case DW_OP_mul: return a * b;
	case DW_OP_div: return expr_divide(m, a, b);
	case DW_OP_mod: return expr_modulo(m, a, b);
	case DW_OP_shl: return b < 64 ? a << b : 0;
	case DW_OP_shr: return b < 64 ? a >> b : 0;
	case DW_OP_shra: return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case DW_OP_eq: return a == b;
	case DW_OP_ne: return a != b;
	case DW_OP_lt: return (int64_t)a < (int64_t)b;
	case DW_OP_le: return (int64_t)a <= (int64_t)b;
	case DW_OP_gt: return (int64_t)a > (int64_t)b;
	case DW_OP_ge: return (int64_t)a >= (int64_t)b;
	default: expr_fail(m, -EINVAL); return 0;
	}
}

static void expr_shuffle_or_compute(struct evaluation *m, const struct expr_op *op)
{
	uint64_t top;

	switch (op->atom) {
	case DW_OP_nop: return;
	case DW_OP_dup: expr_pick(m, 0); return;
	case DW_OP_over: expr_pick(m, 1); return;
	case DW_OP_pick: expr_pick(m, op->a); return;
	case DW_OP_drop: expr_pop(m); return;
	case DW_OP_rot: expr_rotate(m); return;
	case DW_OP_abs: top = expr_pop(m), expr_push(m, (int64_t)top < 0 ? -top : top); return;
	case DW_OP_neg: expr_push(m, -expr_pop(m)); return;
	case DW_OP_not: expr_push(m, ~expr_pop(m)); return;
	case DW_OP_plus_uconst: expr_push(m, expr_pop(m) + op->a); return;
	case DW_OP_swap: expr_swap(m); return;
	default:
		top = expr_pop(m), expr_push(m, expr_binary(m, op->atom, expr_pop(m), top));
		return;
	}
}

static void expr_step(struct evaluation *m, const struct expr_op *op)
{
	switch (op->atom) {
	case DW_OP_call_frame_cfa: expr_push(m, m->env->cfa); return;
	case DW_OP_breg0 ... DW_OP_breg31: expr_push_reg(m, op->atom - DW_OP_breg0, op->a); return;
	case DW_OP_bregx: expr_push_reg(m, op->a, op->b); return;
	case DW_OP_lit0 ... DW_OP_lit31: expr_push(m, op->atom - DW_OP_lit0); return;
	case DW_OP_const1u ... DW_OP_consts: expr_push(m, op->a); return;
	case DW_OP_deref: expr_deref(m, 8); return;
	case DW_OP_deref_size: expr_deref(m, op->a); return;
	case DW_OP_skip: m->next = op->a; return;
	case DW_OP_bra:
		if (expr_pop(m))
			m->next = op->a;
		return;
	default: expr_shuffle_or_compute(m, op); return;
	}
}

int expr__eval(const struct expr_op *ops, size_t cnt, const struct expr_env *env, uint64_t *out)
{
	struct evaluation m = { .env = env };

	for (int steps = 0; m.next < cnt && !m.err; steps++) {
		if (steps == EXPR_STEPS_MAX)
			return -EINVAL;
		expr_step(&m, &ops[m.next++]);
	}
	*out = expr_pop(&m);
	return m.err;
}

/* ---- from libdw ---- */

static bool expr_is_jump(uint64_t atom)
{
	return atom == DW_OP_skip || atom == DW_OP_bra;
}

/*
 * Returns the index of the operation that a jump goes to. Its operand counts bytes from the next
 * operation (after the opcode and two bytes of operand). libdw adds operations of its own, with
 * offset 0, before and after the expression's.
 */
static int expr_jump_target(const Dwarf_Op *ops, size_t cnt, size_t jump)
{
	uint64_t to = ops[jump].offset + 3 + (uint64_t)(int16_t)ops[jump].number, end = 0;

	for (size_t i = cnt; i-- > 0;)
		if (ops[i].offset == to && ops[i].atom != DW_OP_stack_value)
			return (int)i;
	for (size_t i = 0; i < cnt; i++)
		end = ops[i].offset > end ? ops[i].offset : end;
	return (int64_t)to > (int64_t)end ? (int)cnt : -EINVAL;
}

static bool expr_known(uint64_t atom)
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

static bool expr_operands_ok(const Dwarf_Op *op)
{
	if (op->atom == DW_OP_deref_size)
		return op->number >= 1 && op->number <= 8;
	return expr_known(op->atom);
}

int expr__compile(const Dwarf_Op *ops, size_t cnt, struct expr_op out[EXPR_OP_MAX])
{
	if (cnt && ops[cnt - 1].atom == DW_OP_stack_value)
		cnt--;
	if (!cnt || cnt > EXPR_OP_MAX)
		return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		int to = expr_is_jump(ops[i].atom) ? expr_jump_target(ops, cnt, i) : 0;

		if (to < 0 || !expr_operands_ok(&ops[i]))
			return -EINVAL;
		out[i].atom = ops[i].atom;
		out[i].a = expr_is_jump(ops[i].atom) ? (uint64_t)to : ops[i].number;
		out[i].b = ops[i].number2;
	}
	return (int)cnt;
}
