// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/perfregs.h"

#include <elf.h>
#include <string.h>

#define NONE	PERFREGS_NONE
#define UNKNOWN UINT64_MAX /* an NMI in the kernel finds no callee-saved registers */

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
	/* All general registers, the stack pointer and the program counter. */
	{ EM_X86_64, sizeof(x86_64), x86_64, 0xff01ff },
	/* Without r8 … r15. */
	{ EM_386, 9, x86_64, 0x1ff },
	/* Registers that calls preserve, lr, sp, pc, and the registers that 32-bit code has under
	 * those names. */
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

/* Returns NONE if the machine has no such register, or is unknown. */
static uint8_t perfregs_dwarf_of(const struct machine *m, unsigned bit)
{
	for (size_t i = 0; i < MACHINE_CNT; i++)
		if (machines[i].elf == m->elf)
			return bit < machines[i].cnt ? machines[i].dwarf[bit] : NONE;
	return NONE;
}

void perfregs__order(struct perfregs_order *o, const struct machine *m, uint64_t mask)
{
	*o = (struct perfregs_order){ .machine = m, .mask = mask };
	for (; mask; mask &= mask - 1)
		o->dwarf[o->cnt++] = perfregs_dwarf_of(m, (unsigned)__builtin_ctzll(mask));
}

uint64_t perfregs__spread(const struct perfregs_order *o, const uint64_t *values, size_t cnt,
			  uint64_t regs[MACHINE_REG_MAX])
{
	uint64_t known = 0;

	memset(regs, 0, o->machine->reg_cnt * sizeof(*regs));
	if (cnt < o->cnt)
		return 0;
	for (size_t i = 0; i < o->cnt; i++) {
		unsigned reg = o->dwarf[i];

		if (reg == NONE)
			continue;
		regs[reg] = values[i];
		known |= (uint64_t)(values[i] != UNKNOWN) << reg;
	}
	return known;
}
