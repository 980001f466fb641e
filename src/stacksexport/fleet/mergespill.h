/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of events by the range that they are in, until all rows have been read. They are kept in a
 * file without a name, because reading the inputs again for each range takes most of the CPU time.
 * Ids of texts stay as they are.
 */
#ifndef STACKSEXPORT_FLEET_MERGESPILL_H
#define STACKSEXPORT_FLEET_MERGESPILL_H

#include <stdbool.h>
#include <stddef.h>

#include "store/row.h"

struct merge_spill;

/* Makes its file in the folder `dir`, where no other process does. Returns NULL + errno. */
struct merge_spill *merge_spill__new(const char *dir, size_t ranges);
void merge_spill__free(struct merge_spill *); /* accepts NULL */

/* Adds a row to a range. Returns 0 or -errno. */
int merge_spill__add(struct merge_spill *, size_t range, const struct row *);

/* Returns true if the file is as large as it may become. */
bool merge_spill__is_full(const struct merge_spill *);

/* Gives the rows of a range in pieces. Returns 0, the error of `take`, or -errno. */
int merge_spill__each(struct merge_spill *, size_t range,
		      int (*take)(const struct row *, size_t cnt, void *), void *arg);

/* Forgets all rows. */
void merge_spill__clear(struct merge_spill *);

#endif
