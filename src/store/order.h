/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows come nearly in order of time, from one ring after the other; files promise all of it. */
#ifndef STORE_ORDER_H
#define STORE_ORDER_H

#include "store/batch.h"

/* The order that sorts a batch by its first column (INT64), equal rows as they came; NULL when it
 * is sorted already, or with *err -ENOMEM. The caller frees it. */
uint32_t *batch__order(const struct batch *, int *err);

#endif
