/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the columns of an event's detail: device, file, fs, local, peer, address. */
#ifndef COLLECTOR_DETAIL_H
#define COLLECTOR_DETAIL_H

#include "collector/slice.h"
#include "store/recording.h"

void detail__fill(struct row *, const struct resolved_event *, struct recording *);

#endif
