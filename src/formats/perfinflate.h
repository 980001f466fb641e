/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records out of PERF_RECORD_COMPRESSED. */
#ifndef FORMATS_PERFINFLATE_H
#define FORMATS_PERFINFLATE_H

#include "formats/perfdata.h"

void perf_inflate__free(struct perf_inflate *);
/* `data` stay the caller's until perf_inflate__next() has returned false. 0 or -ENOMEM. */
int perf_inflate__begin(struct perf_inflate *, const uint8_t *data, size_t sz);
/* The next whole record, until the next call. False: there is none yet, or *wrong says what is
 * wrong. */
bool perf_inflate__next(struct perf_inflate *, struct raw *, const char **wrong);
/* Whether there is the beginning of a record whose end has not come. */
bool perf_inflate__left(const struct perf_inflate *);

#endif
