/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses that matter to a result. */
#ifndef STACKSEXPORT_LOSSSHARE_H
#define STACKSEXPORT_LOSSSHARE_H

#include <stdint.h>

#include "stacksexport/duck/db.h"

/*
 * Sets *lost to how many events the sources of these kinds (sources.h; 0: all kinds) have lost, or
 * to 0 if that is one in 10,000 or less. Losses of unknown kind count, too. 0 or -errno; reports.
 */
int loss_share__of(struct db *, uint64_t kinds, int64_t *lost);

#endif
