/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes records of other formats as a perf.data stream. */
#ifndef FORMATS_PERFFOREIGN_H
#define FORMATS_PERFFOREIGN_H

#include "formats/item.h"
#include "formats/output.h"

/* Writes the single event that all samples belong to. */
void perf_foreign__begin(struct output *);
/* Returns false if perf.data has no record for the item. */
bool perf_foreign__write(struct output *, const struct item *);

#endif
