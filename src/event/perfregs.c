// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/perfregs.h"

#include <elf.h>
#include <string.h>

#define NONE UINT8_MAX

/* perf's number → DWARF number (arch/…/include/uapi/asm/perf_regs.h). */
static const uint8_t x86_64[] = {
	0,    3,    2,	  1,	/* ax bx cx dx */
	4,    5,    6,	  7,	/* si di bp sp */
	16,   NONE, NONE, NONE, /* ip flags cs ss */
	NONE, NONE, NONE, NONE, /* ds es fs gs */
	8,    9,    10,	  11,	12, 13, 14, 15,
};
static const uint8_t aarch64[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
};

static const struct {
	uint16_t elf;
	uint8_t cnt;
	const uint8_t *dwarf;
	uint64_t preferred;
} machines[] = {
	/* All general ones, the stack pointer and the program counter. */
	{ EM_X86_64, sizeof(x86_64), x86_64, 0xff01ff },
	/* Without r8 … r15. */
	{ EM_386, 9, x86_64, 0x1ff },
	/* What calls preserve, lr, sp, pc, and what 32-bit code has under those names. */
	{ EM_AARCH64, sizeof(aarch64), aarch64, 0x1fff81fff },
};

#define MACHINE_CNT (sizeof(machines) / sizeof(*machines))

uint64_t perfregs__preferred(uint16_t e_machine)
{
	for (size_t i = 0; i < MACHINE_CNT; i++)
		if (machines[i].elf == e_machine)
			return machines[i].preferred;
	return 0;
}

static uint64_t spread(size_t machine, const struct perfregs *p, uint64_t regs[MACHINE_REG_MAX])
{
	const uint8_t *dwarf = machines[machine].dwarf;
	uint64_t known = 0, left = p->mask & ((1ull << machines[machine].cnt) - 1);
	const uint64_t *value = p->values;

	for (; left; left &= left - 1, value++) {
		uint8_t reg = dwarf[__builtin_ctzll(left)];

		if (reg == NONE)
			continue;
		regs[reg] = *value;
		known |= 1ull << reg;
	}
	return known;
}

uint64_t perfregs__spread(const struct machine *m, const struct perfregs *p,
			  uint64_t regs[MACHINE_REG_MAX])
{
	bool enough = (size_t)__builtin_popcountll(p->mask) <= p->cnt;
	uint64_t known = 0;

	for (size_t i = 0; i < MACHINE_CNT && enough && !known; i++)
		if (machines[i].elf == m->elf)
			known = spread(i, p, regs);
	for (uint64_t none = ~known & ((1ull << m->reg_cnt) - 1); none; none &= none - 1)
		regs[__builtin_ctzll(none)] = 0;
	return known;
}
