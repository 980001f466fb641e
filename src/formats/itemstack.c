// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/itemstack.h"

#include "event/perfregs.h"

#define UNKNOWN UINT64_MAX /* an NMI in the kernel finds no callee-saved registers */

/* A stream does not say of which machine it is, but program counter and stack pointer are in every
 * mask, and where only one machine has them. */
static const struct {
	const struct machine *machine;
	uint64_t needed, never;
} masks[] = {
	{ &machine_x86_64, 1 << 7 | 1 << 8, 1ull << 32 },
	{ &machine_aarch64, 1ull << 31 | 1ull << 32, 0 },
};

static const struct machine *machine_of(uint64_t mask)
{
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if ((mask & masks[i].needed) == masks[i].needed && !(mask & masks[i].never))
			return masks[i].machine;
	return NULL;
}

bool item_stack__sample(const struct item_stack *s, uint64_t regs[MACHINE_REG_MAX],
			struct sample *out)
{
	const struct machine *m = s->abi && !s->foreign ? machine_of(s->mask) : NULL;
	uint64_t valid = 0;

	if (m)
		valid = perfregs__spread(m, &(struct perfregs){ s->mask, s->regs, s->cnt }, regs);
	for (unsigned i = 0; m && i < m->reg_cnt; i++)
		valid &= ~((uint64_t)(regs[i] == UNKNOWN) << i);
	if (!m || !(valid >> m->pc & 1) || !(valid >> m->sp & 1))
		return false;
	*out = (struct sample){
		.machine = m,
		.regs = regs,
		.valid = valid,
		.stack = { .addr = regs[m->sp], .sz = s->sz, .bytes = s->bytes },
		.truncated = s->sz == s->wanted,
		.compat = s->abi == 1,
	};
	return true;
}
