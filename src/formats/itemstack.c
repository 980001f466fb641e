// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/itemstack.h"

/* Identifies the machine by its register mask, because a stream does not name the machine. Every
 * mask has the program counter and stack pointer. Their numbers differ between machines. */
static const struct {
	const struct machine *machine;
	uint64_t needed, never;
} masks[] = {
	{ &machine_x86_64, 1 << 7 | 1 << 8, 1ull << 32 },
	{ &machine_aarch64, 1ull << 31 | 1ull << 32, 0 },
};

static const struct machine *itemstack_machine_of(uint64_t mask)
{
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if ((mask & masks[i].needed) == masks[i].needed && !(mask & masks[i].never))
			return masks[i].machine;
	return NULL;
}

bool item_stack__sample(const struct item_stack *s, struct perfregs_order *order,
			uint64_t regs[MACHINE_REG_MAX], struct sample *out)
{
	const struct machine *m = order->machine;
	uint64_t valid;

	if (!m || order->mask != s->mask) {
		m = itemstack_machine_of(s->mask);
		if (m)
			perfregs__order(order, m, s->mask);
	}
	if (!m || s->abi == 0 || s->foreign)
		return false;
	valid = perfregs__spread(order, s->regs, s->cnt, regs);
	if (!(valid >> m->pc & valid >> m->sp & 1))
		return false;
	memset(out, 0, sizeof(*out)); /* set fields in place, like event__sample() */
	out->machine = m;
	out->regs = regs;
	out->valid = valid;
	out->stack.addr = regs[m->sp];
	out->stack.sz = s->sz;
	out->stack.bytes = s->bytes;
	out->truncated = s->sz == s->wanted;
	out->compat = s->abi == 1;
	return true;
}
