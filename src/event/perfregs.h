/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers in the order of perf events: PERF_SAMPLE_REGS_USER of perf_event_open(2). */
#ifndef EVENT_PERFREGS_H
#define EVENT_PERFREGS_H

#include <stddef.h>

#include "event/machine.h"

/* Returns a mask with the registers that a walk needs; 0 for an unknown machine. */
uint64_t perfregs__preferred(uint16_t e_machine);

/*
 * Maps the values of a mask's registers, which are in the order of their bits (enum
 * perf_event_x86_regs and similar), to the machine's DWARF numbers.
 */
struct perfregs_order {
	const struct machine *machine;
	uint64_t mask;
	uint8_t cnt, dwarf[64]; /* PERFREGS_NONE: the machine has no such register */
};

#define PERFREGS_NONE MACHINE_REG_MAX

void perfregs__order(struct perfregs_order *, const struct machine *, uint64_t mask);

/* Stores the values by DWARF number. Returns a bit for each known register; 0 if there are fewer
 * values than bits in the mask. */
uint64_t perfregs__spread(const struct perfregs_order *, const uint64_t *values, size_t cnt,
			  uint64_t regs[MACHINE_REG_MAX]);

#endif
