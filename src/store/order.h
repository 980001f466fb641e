/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows arrive nearly in the order of time, from one ring after the other. Files are completely
 * sorted. */
#ifndef STORE_ORDER_H
#define STORE_ORDER_H

#include "store/batch.h"

/* Returns the order that sorts a batch by its first column (INT64); it is stable. Returns NULL if
 * the batch is sorted already, or sets *err to -ENOMEM. The caller frees the result. */
uint32_t *batch__order(const struct batch *, int *err);

#endif
