// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <dwarf.h>
#include <errno.h>

#include "cfi/expr.h"

static const uint64_t stack[] = { 0x1122334455667788, 0xffffffffffffff80, 0x3000 };

#define STACK_ADDR 0x7ffd00001000

struct result {
	int err;
	uint64_t value;
};

/* rax is 10, rbp points to the stack, rip is 0x401017; r8 is unknown. The CFA is 0x5000. */
static struct result run_ops(const Dwarf_Op *ops, size_t cnt)
{
	struct snapshot snapshot = { .addr = STACK_ADDR,
				     .sz = sizeof(stack),
				     .bytes = (const uint8_t *)stack };
	struct regs regs = { .machine = &machine_x86_64,
			     .valid = ((1ull << machine_x86_64.reg_cnt) - 1) & ~(1ull << 8) };
	struct expr_env env = { &regs, &snapshot, 0x5000 };
	struct expr_op compiled[EXPR_OP_MAX];
	struct result r = { 0, 0 };
	int n = expr__compile(ops, cnt, compiled);

	regs.v[0] = 10;
	regs.v[DWARF_RBP] = STACK_ADDR;
	regs.v[DWARF_RIP] = 0x401017;
	if (n < 0)
		return (struct result){ n, 0 };
	r.err = expr__eval(compiled, (size_t)n, &env, &r.value);
	return r;
}

#define RUN(...) \
	run_ops((Dwarf_Op[]){ __VA_ARGS__ }, sizeof((Dwarf_Op[]){ __VA_ARGS__ }) / sizeof(Dwarf_Op))
#define CHECK(expected, ...)                                    \
	do {                                                    \
		struct result r_ = RUN(__VA_ARGS__);            \
		assert_int_equal(r_.err, 0);                    \
		assert_int_equal(r_.value, (uint64_t)expected); \
	} while (0)
#define CHECK_ERR(expected, ...) assert_int_equal(RUN(__VA_ARGS__).err, expected)

/* OP(name, operand, second operand, offset) */
#define OP(...) OP_(__VA_ARGS__, 0, 0, 0, 0)
#define OP_(name, a, b, offset, ...)       \
	{                                  \
		DW_OP_##name, a, b, offset \
	}
#define CONST(n) OP(consts, (Dwarf_Word)(n))

static void values_and_registers_are_pushed(void **state)
{
	(void)state;
	CHECK(17, OP(lit17));
	CHECK(-5, CONST(-5));
	CHECK(0x5000, OP(call_frame_cfa));
	CHECK(0x5008, OP(call_frame_cfa), OP(plus_uconst, 8));
	CHECK(7, OP(breg0, (Dwarf_Word)-3));
	CHECK(12, OP(bregx, 0, 2));
	CHECK(9, OP(lit9), OP(stack_value));
	CHECK_ERR(-EINVAL, OP(breg8, 0));	/* not known */
	CHECK_ERR(-EINVAL, OP(breg17, 0));	/* xmm0 */
	CHECK_ERR(-EINVAL, OP(bregx, 1000, 0)); /* no such */
}

static void memory_is_the_snapshot(void **state)
{
	(void)state;
	CHECK(0x1122334455667788, OP(breg6, 0), OP(deref));
	CHECK(0x5566778811223344, OP(breg6, 0), OP(deref), OP(lit31), OP(lit1), OP(plus), OP(shl),
	      OP(breg6, 4), OP(deref_size, 4), OP(or));
	CHECK(0x3000, OP(breg6, 16), OP(deref));
	CHECK(0x88, OP(breg6, 0), OP(deref_size, 1));
	CHECK_ERR(-EFAULT, OP(breg6, 17), OP(deref)); /* its last byte is outside */
	CHECK_ERR(-EFAULT, OP(breg6, (Dwarf_Word)-1), OP(deref));
	CHECK_ERR(-EFAULT, CONST(-4), OP(deref)); /* its end wraps around */
	CHECK_ERR(-EINVAL, OP(breg6, 0), OP(deref_size, 9));
	CHECK_ERR(-EINVAL, OP(breg6, 0), OP(deref_size, 0));
}

static void arithmetic_is_checked(void **state)
{
	(void)state;
	CHECK(-3, CONST(-7), OP(lit2), OP(div));
	CHECK(INT64_MIN, CONST(INT64_MIN), CONST(-1), OP(div));
	CHECK_ERR(-EINVAL, OP(lit1), OP(lit0), OP(div));
	CHECK_ERR(-EINVAL, OP(lit1), OP(lit0), OP(mod));
	CHECK(1, OP(lit7), OP(lit3), OP(mod));
	CHECK(0, OP(lit1), CONST(64), OP(shl));
	CHECK(0, CONST(-1), CONST(64), OP(shr));
	CHECK(-1, CONST(-8), CONST(200), OP(shra));
	CHECK(-2, CONST(-8), OP(lit2), OP(shra));
	CHECK(8, CONST(-8), OP(abs));
	CHECK(-8, OP(lit8), OP(neg));
	CHECK(-9, OP(lit8), OP(not ));
	CHECK(6, OP(lit8), OP(lit2), OP(minus));
	CHECK(16, OP(lit8), OP(lit2), OP(mul));
	CHECK(1, CONST(-1), OP(lit0), OP(lt));
	CHECK(0, CONST(-1), OP(lit0), OP(ge));
	CHECK(1, OP(lit3), OP(lit3), OP(le));
	CHECK(5, OP(lit6), OP(lit3), OP(xor));
}

static void the_stack_is_bounded(void **state)
{
	Dwarf_Op deep[65];

	(void)state;
	CHECK(2, OP(lit1), OP(lit2), OP(lit3), OP(drop));
	CHECK(-1, OP(lit1), OP(lit2), OP(swap), OP(minus), OP(neg)); /* -(2 - 1) */
	CHECK(1, OP(lit1), OP(lit2), OP(lit3), OP(pick, 2));
	CHECK(2, OP(lit1), OP(lit2), OP(lit3), OP(over));
	CHECK(2, OP(lit1), OP(lit2), OP(lit3), OP(rot));	   /* top was second */
	CHECK(1, OP(lit1), OP(lit2), OP(lit3), OP(rot), OP(drop)); /* then third */
	CHECK(3, OP(lit1), OP(lit2), OP(lit3), OP(rot), OP(drop), OP(drop));
	CHECK_ERR(-EINVAL, OP(drop));
	CHECK_ERR(-EINVAL, OP(lit1), OP(drop)); /* no result */
	CHECK_ERR(-EINVAL, OP(lit1), OP(plus));
	CHECK_ERR(-EINVAL, OP(lit1), OP(pick, 1));
	CHECK_ERR(-EINVAL, OP(lit1), OP(swap));
	for (size_t i = 0; i < 65; i++)
		deep[i] = (Dwarf_Op)OP(lit1);
	assert_int_equal(run_ops(deep, 64).err, 0);
	assert_int_equal(run_ops(deep, 65).err, -EINVAL);
}

/* Jumps count bytes from the operation after them; .offset is where an operation starts. */
static void jumps_stay_inside(void **state)
{
	(void)state;
	CHECK(4, OP(lit4), OP(skip, 1, 0, 1), OP(drop, 0, 0, 4), OP(nop, 0, 0, 5));
	CHECK(1, OP(lit1), OP(lit0, 0, 0, 1), OP(bra, 1, 0, 2), OP(nop, 0, 0, 5), OP(nop, 0, 0, 6));
	/* libdw puts call_frame_cfa before the expression: target 0 is what follows */
	CHECK(2, OP(call_frame_cfa), OP(lit2, 0, 0, 0), OP(dup, 0, 0, 1), OP(lit2, 0, 0, 2),
	      OP(ne, 0, 0, 3), OP(bra, (Dwarf_Word)-7, 0, 4));
	/* to the end, past libdw's stack_value */
	CHECK(3, OP(lit3), OP(skip, 1, 0, 1), OP(drop, 0, 0, 4), OP(stack_value));
	CHECK_ERR(-EINVAL, OP(skip, (Dwarf_Word)-3, 0, 0));		    /* for ever */
	CHECK_ERR(-EINVAL, OP(const4u, 1), OP(skip, (Dwarf_Word)-6, 0, 5)); /* into an operand */
	CHECK_ERR(-EINVAL, OP(lit1), OP(skip, (Dwarf_Word)-100, 0, 1));
}

static void operations_outside_cfi_are_refused(void **state)
{
	static const uint8_t atoms[] = {
		DW_OP_addr,  DW_OP_xderef, DW_OP_fbreg, DW_OP_piece, DW_OP_push_object_address,
		DW_OP_call2, DW_OP_reg3,   0xff
	};
	Dwarf_Op many[EXPR_OP_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(atoms); i++)
		CHECK_ERR(-EINVAL, OP(lit1), OP(lit1), { atoms[i], 0, 0, 0 });
	for (size_t i = 0; i <= EXPR_OP_MAX; i++)
		many[i] = (Dwarf_Op){ .atom = i ? DW_OP_nop : DW_OP_lit1 };
	assert_int_equal(run_ops(many, EXPR_OP_MAX).err, 0);
	assert_int_equal(run_ops(many, EXPR_OP_MAX + 1).err, -EINVAL);
	assert_int_equal(run_ops(many, 0).err, -EINVAL);
}

/* The lazy binding stubs of x86-64: rsp + 8 + ((rip & 15) >= 11) * 8. */
static void the_plt_expression_is_evaluated(void **state)
{
	(void)state;
	CHECK(STACK_ADDR + 8, OP(breg6, 8), OP(breg16, 0), OP(lit15), OP(and), OP(lit11), OP(ge),
	      OP(lit3), OP(shl), OP(plus)); /* rip ends in 7 */
	CHECK(STACK_ADDR + 16, OP(breg6, 8), OP(breg16, 4), OP(lit15), OP(and), OP(lit11), OP(ge),
	      OP(lit3), OP(shl), OP(plus));
}

RUN_TESTS(cmocka_unit_test(values_and_registers_are_pushed),
	  cmocka_unit_test(memory_is_the_snapshot), cmocka_unit_test(arithmetic_is_checked),
	  cmocka_unit_test(the_stack_is_bounded), cmocka_unit_test(jumps_stay_inside),
	  cmocka_unit_test(operations_outside_cfi_are_refused),
	  cmocka_unit_test(the_plt_expression_is_evaluated))
