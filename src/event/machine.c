// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/machine.h"

#include <elf.h>
#include <stddef.h>

#define BIT(n)		  (1ull << (n))
#define BITS(first, last) (BIT((last) + 1) - BIT(first))

const struct machine machine_x86_64 = {
	.name = "x86_64",
	.elf = EM_X86_64,
	.reg_cnt = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.ra = 16,
	.kept = BIT(3) | BITS(6, 7) | BITS(12, 15), /* rbx rbp rsp r12 … r15 */
	.caller = BITS(6, 7) | BIT(16),
	.leaf = BITS(6, 7) | BIT(16),
	.stack_end = BIT(47),
	.code_bits = UINT64_MAX,
};

/*
 * Signatures of PAuth are in the bits above an address, which are 0 in user space, except bit 55. A
 * process gets addresses of 48 bits unless it requests larger ones.
 */
const struct machine machine_aarch64 = {
	.name = "aarch64",
	.elf = EM_AARCH64,
	.reg_cnt = 33,
	.sp = 31,
	.fp = 29,
	.pc = 32,
	.ra = 30,
	.kept = BITS(19, 29) | BIT(31),
	.caller = BIT(29) | BITS(31, 32),
	.leaf = BITS(29, 32),
	.stack_end = BIT(52),
	.code_bits = BITS(0, 47),
	.descriptor_max = 4096, /* glibc 2.36: 1,856 bytes */
};

const struct machine *machine__of_elf(uint16_t e_machine)
{
	static const struct machine *const all[] = { &machine_x86_64, &machine_aarch64 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->elf == e_machine)
			return all[i];
	return NULL;
}

uint64_t machine__code_bits(const struct machine *m, uint64_t stack)
{
	uint64_t bits = 1;

	while (bits < stack)
		bits = bits << 1 | 1;
	return !stack || m->code_bits == UINT64_MAX ? m->code_bits : bits;
}
