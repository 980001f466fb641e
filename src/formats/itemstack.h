/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the registers and stack of a stream to the sample that a walk starts from. */
#ifndef FORMATS_ITEMSTACK_H
#define FORMATS_ITEMSTACK_H

#include "event/perfregs.h"
#include "event/sample.h"
#include "formats/item.h"

/*
 * Fills the sample. Returns false if there are no registers, if the program counter or stack
 * pointer is missing, or if the machine is unknown. Initialize `order` with zeros and reuse it for
 * later samples. `regs` and the bytes of the stack must outlive the sample.
 */
bool item_stack__sample(const struct item_stack *, struct perfregs_order *order,
			uint64_t regs[MACHINE_REG_MAX], struct sample *);

#endif
