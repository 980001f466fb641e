/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written as a stream of perf.data though it comes from another format. */
#ifndef FORMATS_PERFFOREIGN_H
#define FORMATS_PERFFOREIGN_H

#include "formats/item.h"
#include "formats/output.h"

/* The one event that all samples are of. */
void perf_foreign__begin(struct output *);
/* False: perf.data has no record for that. */
bool perf_foreign__write(struct output *, const struct item *);

#endif
