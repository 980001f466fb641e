/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The known registers of a frame. */
#ifndef CFI_REGS_H
#define CFI_REGS_H

#include "event/sample.h"

enum reg { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 }; /* psABI figure 3.36 */

struct regs {
	const struct machine *machine;
	uint64_t v[MACHINE_REG_MAX];
	uint64_t valid; /* bit per register */
};

static inline bool regs__has(const struct regs *r, uint64_t reg)
{
	return reg < MACHINE_REG_MAX && (r->valid >> reg & 1);
}

#endif
