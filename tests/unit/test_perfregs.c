// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <elf.h>

#include "event/perfregs.h"

static void machines_have_preferred_masks(void **state)
{
	(void)state;
	assert_int_equal(perfregs__preferred(EM_X86_64), 0xff01ff);
	assert_int_equal(perfregs__preferred(EM_386), 0x1ff);
	assert_int_equal(perfregs__preferred(EM_AARCH64), 0x1fff81fff);
	assert_int_equal(perfregs__preferred(EM_S390), 0);
}

static uint64_t spread_values(const struct machine *m, uint64_t mask, const uint64_t *values,
			      size_t cnt, uint64_t regs[MACHINE_REG_MAX])
{
	struct perfregs_order order;

	perfregs__order(&order, m, mask);
	return perfregs__spread(&order, values, cnt, regs);
}

/* Values that contain the number of their register in perf's order. */
static uint64_t spread(const struct machine *m, uint64_t mask, uint64_t regs[MACHINE_REG_MAX])
{
	uint64_t values[64];
	size_t cnt = 0;

	for (unsigned bit = 0; bit < 64; bit++)
		if (mask >> bit & 1)
			values[cnt++] = 100 + bit;
	return spread_values(m, mask, values, cnt, regs);
}

static void x86_registers_have_other_numbers(void **state)
{
	static const uint64_t perf[17] = {
		0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8
	};
	static const uint64_t masks[] = { 0xff01ff, 0xff0fff, 0xffffff };
	uint64_t regs[MACHINE_REG_MAX];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(spread(&machine_x86_64, masks[i], regs), 0x1ffff);
		for (int r = 0; r < 17; r++)
			assert_int_equal(regs[r], 100 + perf[r]);
	}
	assert_int_equal(spread(&machine_x86_64, 1 << 7 | 1 << 8, regs), 1 << 7 | 1 << 16);
	assert_int_equal(regs[16], 108);
	assert_int_equal(regs[0], 0);
}

static void arm_registers_have_the_same(void **state)
{
	uint64_t regs[MACHINE_REG_MAX];

	(void)state;
	assert_int_equal(spread(&machine_aarch64, 0x1ffffffff, regs), 0x1ffffffff);
	for (int r = 0; r < 33; r++)
		assert_int_equal(regs[r], 100 + r);
	assert_int_equal(spread(&machine_aarch64, 0x1fff81fff, regs), 0x1fff81fff);
	assert_int_equal(regs[31], 131);
}

static void fewer_values_than_the_mask_are_accepted(void **state)
{
	uint64_t regs[MACHINE_REG_MAX], values[16] = { 1 };

	(void)state;
	assert_int_equal(spread_values(&machine_x86_64, 0xff01ff, values, 16, regs), 0);
	assert_int_equal(spread_values(&machine_x86_64, UINT64_MAX, values, 16, regs), 0);
	assert_int_equal(spread_values(&machine_x86_64, 0, NULL, 0, regs), 0);
}

static void unknown_values_are_left_out(void **state)
{
	uint64_t regs[MACHINE_REG_MAX], values[2] = { UINT64_MAX, 5 };

	(void)state;
	assert_int_equal(spread_values(&machine_x86_64, 1 << 6 | 1 << 7, values, 2, regs), 1 << 7);
	assert_int_equal(regs[7], 5);
}

RUN_TESTS(cmocka_unit_test(machines_have_preferred_masks),
	  cmocka_unit_test(x86_registers_have_other_numbers),
	  cmocka_unit_test(arm_registers_have_the_same),
	  cmocka_unit_test(fewer_values_than_the_mask_are_accepted),
	  cmocka_unit_test(unknown_values_are_left_out))
