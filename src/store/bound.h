/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Smallest and largest values for statistics and the column index. */
#ifndef STORE_BOUND_H
#define STORE_BOUND_H

#include "store/leaf.h"

/* Maximum size of a string bound in bytes, if it can be cut. */
#define BOUND_MAX 64

/* Replace the contents of the buf by the PLAIN bytes of the value, without a length. A long string
 * is cut: a minimum to a smaller one, a maximum to a larger one. Return true if the result is the
 * exact value. */
bool bound__min(struct buf *, const struct leaf *, uint64_t value);
bool bound__max(struct buf *, const struct leaf *, uint64_t value);

#endif
