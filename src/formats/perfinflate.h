/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decompresses PERF_RECORD_COMPRESSED. */
#ifndef FORMATS_PERFINFLATE_H
#define FORMATS_PERFINFLATE_H

#include "formats/perfdata.h"

void perf_inflate__free(struct perf_inflate *);
/* Starts on a compressed record. Returns 0 or -ENOMEM. Borrows `data` until perf_inflate__next()
 * returns false. */
int perf_inflate__begin(struct perf_inflate *, const uint8_t *data, size_t sz);
/* Stores the next complete record, valid until the next call. Returns false if there is none yet,
 * or on an error, which *wrong describes. */
bool perf_inflate__next(struct perf_inflate *, struct raw *, const char **wrong);
/* Returns whether an incomplete record is left. */
bool perf_inflate__left(const struct perf_inflate *);

#endif
