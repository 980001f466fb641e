/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers as perf events have them: PERF_SAMPLE_REGS_USER of perf_event_open(2). */
#ifndef EVENT_PERFREGS_H
#define EVENT_PERFREGS_H

#include <stddef.h>

#include "event/machine.h"

/* A mask that a walk needs; 0 for a machine that we do not know. */
uint64_t perfregs__preferred(uint16_t e_machine);

/*
 * Where the values of the registers in a mask (bit numbers: enum perf_event_x86_regs and its like)
 * belong, which stand in the order of their bits: the machine's DWARF numbers.
 */
struct perfregs_order {
	const struct machine *machine;
	uint64_t mask;
	uint8_t cnt, dwarf[64]; /* PERFREGS_NONE: the machine has no such register */
};

#define PERFREGS_NONE MACHINE_REG_MAX

void perfregs__order(struct perfregs_order *, const struct machine *, uint64_t mask);

/* Puts them there. Returns a bit for each that is known: none when there are fewer values than the
 * mask has bits. */
uint64_t perfregs__spread(const struct perfregs_order *, const uint64_t *values, size_t cnt,
			  uint64_t regs[MACHINE_REG_MAX]);

#endif
