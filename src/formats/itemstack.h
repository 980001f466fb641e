/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the registers of a stream to what a walk begins with. */
#ifndef FORMATS_ITEMSTACK_H
#define FORMATS_ITEMSTACK_H

#include "event/perfregs.h"
#include "event/sample.h"
#include "formats/item.h"

/*
 * `order` is zeros at first, and kept from sample to sample. `regs`, like the stack's bytes, has to
 * stay as long as the sample. False: there are no registers,
 * not the program counter and stack pointer, or they are of a machine that we do not know.
 */
bool item_stack__sample(const struct item_stack *, struct perfregs_order *order,
			uint64_t regs[MACHINE_REG_MAX], struct sample *);

#endif
