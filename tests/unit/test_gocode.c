// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules derived from the instructions of Go's runtime for AArch64. */
#include "lib/test.h"

#include "cfi/gocode.h"

#define CODE_SZ(code) (sizeof(code))
#define NOP	      0xd503201f

static size_t rows_of(enum gocode_kind kind, const uint32_t *code, size_t sz,
		      struct gocode_row rows[GOCODE_ROWS_MAX])
{
	return gocode__rows(kind, (const uint8_t *)code, sz, rows);
}

/* From the change of g on, until the stack pointer is the goroutine's again. */
static void a_switch_is_where_g_is_the_threads(void **state)
{
	static const uint32_t systemstack[] = {
		0xf81f0ffe,		/* str x30, [sp, #-16]! */
		0xaa0503fc,		/* mov x28, x5 */
		0x9100007f,		/* mov sp, x3 */
		0xd63f0060,		/* blr x3 */
		0xf9405c7c,		/* ldr x28, [x3, #184] */
		NOP,	    0x9100001f, /* mov sp, x0 */
		0xf84107fe,		/* ldr x30, [sp], #16 */
	};
	static const uint32_t morestack[] = { NOP, 0xf940011c /* ldr x28, [x8] */, 0x9100001f,
					      NOP };
	struct gocode_row rows[GOCODE_ROWS_MAX];

	(void)state;
	assert_int_equal(rows_of(GOCODE_SWITCH, systemstack, CODE_SZ(systemstack), rows), 1);
	assert_int_equal(rows[0].at, 8);
	assert_int_equal(rows[0].sz, 20);
	assert_int_equal(rows[0].rule.packed.how, PACKED_SWITCH);
	assert_int_equal(rows_of(GOCODE_SWITCH, morestack, CODE_SZ(morestack), rows), 1);
	assert_int_equal(rows[0].at, 8);
	assert_int_equal(rows[0].sz, 8);
}

static void a_call_of_the_vdso_keeps_its_stack_pointer_in_x20(void **state)
{
	static const uint32_t nanotime[] = {
		0xf81d0ffe, /* str x30, [sp, #-48]! */
		0x910003f4, /* mov x20, sp */
		0x9100003f, /* mov sp, x1 */
		0xd63f0040, /* blr x2 */
		0x9100029f, /* mov sp, x20 */
		NOP,
	};
	struct gocode_row rows[GOCODE_ROWS_MAX];

	(void)state;
	assert_int_equal(rows_of(GOCODE_VDSO, nanotime, CODE_SZ(nanotime), rows), 1);
	assert_int_equal(rows[0].at, 8);
	assert_int_equal(rows[0].sz, 12);
	assert_int_equal(rows[0].rule.base, 20);
	assert_int_equal(rows[0].rule.packed.cfa, 6);
	assert_int_equal(rows[0].rule.packed.ra, -6);
	assert_int_equal(rows[0].rule.packed.fp, -7);
}

/* The handler pushed 16 bytes, of which the lower 8 are the link register. */
static void a_preemption_has_the_link_register_above_its_frame(void **state)
{
	static const uint32_t preempt[] = { 0xf81103fe /* stur x30, [sp, #-240] */,
					    0xd103c3ff /* sub sp, sp, #0xf0 */, NOP, NOP };
	struct gocode_row rows[GOCODE_ROWS_MAX];

	(void)state;
	assert_int_equal(rows_of(GOCODE_PREEMPT, preempt, CODE_SZ(preempt), rows), 2);
	assert_int_equal(rows[0].sz, 8);
	assert_int_equal(rows[0].rule.packed.cfa, 2);
	assert_int_equal(rows[0].rule.packed.ra, PACKED_RA_LINKED);
	assert_int_equal(rows[1].at, 8);
	assert_int_equal(rows[1].sz, 8);
	assert_int_equal(rows[1].rule.packed.cfa, 32);
	assert_int_equal(rows[1].rule.packed.ra, -32);
	assert_int_equal(rows[1].rule.packed.fp, -33);
	assert_int_equal(rows[0].rule.link, -2);
	assert_int_equal(rows[1].rule.link, -2);
}

static void a_leaf_may_overwrite_its_return_address(void **state)
{
	static const uint32_t block[] = {
		0xf81e0ffe, NOP, NOP, NOP, 0x910083ff /* add sp, sp, #32 */, 0xd65f03c0
	};
	struct gocode_row rows[GOCODE_ROWS_MAX];

	(void)state;
	assert_int_equal(rows_of(GOCODE_LEAF, block, CODE_SZ(block), rows), 1);
	assert_int_equal(rows[0].at, 12);
	assert_int_equal(rows[0].sz, 4);
	assert_int_equal(rows[0].rule.packed.cfa, 4);
	assert_int_equal(rows[0].rule.packed.ra, PACKED_RA_LINKED);
}

static void other_code_has_no_rows(void **state)
{
	static const uint32_t other[] = { NOP, NOP, NOP, NOP };
	struct gocode_row rows[GOCODE_ROWS_MAX];

	(void)state;
	for (int kind = GOCODE_NONE; kind <= GOCODE_PREEMPT; kind++)
		for (size_t sz = 0; sz <= CODE_SZ(other); sz++)
			assert_int_equal(rows_of((enum gocode_kind)kind, other, sz, rows), 0);
}

RUN_TESTS(cmocka_unit_test(a_switch_is_where_g_is_the_threads),
	  cmocka_unit_test(a_call_of_the_vdso_keeps_its_stack_pointer_in_x20),
	  cmocka_unit_test(a_preemption_has_the_link_register_above_its_frame),
	  cmocka_unit_test(a_leaf_may_overwrite_its_return_address),
	  cmocka_unit_test(other_code_has_no_rows))
