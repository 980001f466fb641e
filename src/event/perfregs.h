/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers as perf events have them: PERF_SAMPLE_REGS_USER of perf_event_open(2). */
#ifndef EVENT_PERFREGS_H
#define EVENT_PERFREGS_H

#include <stddef.h>

#include "event/machine.h"

/* The values of the registers in `mask` (bit numbers: enum perf_event_x86_regs and its like), in
 * the order of their bits. */
struct perfregs {
	uint64_t mask;
	const uint64_t *values;
	size_t cnt;
};

/* A mask that a walk needs; 0 for a machine that we do not know. */
uint64_t perfregs__preferred(uint16_t e_machine);

/* Puts them where the machine's DWARF numbers are. Returns a bit for each that is known: none when
 * there are fewer values than the mask says. */
uint64_t perfregs__spread(const struct machine *, const struct perfregs *,
			  uint64_t regs[MACHINE_REG_MAX]);

#endif
