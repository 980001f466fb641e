/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Smallest and largest values as they stand in statistics and in the column index. */
#ifndef STORE_BOUND_H
#define STORE_BOUND_H

#include "store/leaf.h"

/* Longest bound of a string in bytes, where it can be cut. */
#define BOUND_MAX 64

/* Replaces the buf's content by the PLAIN bytes of the value, without a length. A long string is
 * cut: a minimum to a smaller one, a maximum to a larger one. True when it is the value itself. */
bool bound__min(struct buf *, const struct leaf *, uint64_t value);
bool bound__max(struct buf *, const struct leaf *, uint64_t value);

#endif
