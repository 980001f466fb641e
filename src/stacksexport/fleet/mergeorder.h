/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of rows in a fleet folder: command, host, timestamp. */
#ifndef STACKSEXPORT_FLEET_MERGEORDER_H
#define STACKSEXPORT_FLEET_MERGEORDER_H

#include "store/batch.h"
#include "store/strings.h"

/* Returns the numbers of all rows of a batch of events in this order; the caller frees it. NULL: no
 * memory. */
uint32_t *merge_order__of(const struct batch *, const struct strings *);

#endif
