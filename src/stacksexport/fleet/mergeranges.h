/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorts the events of a unit in bounded memory. DuckDB writes to the disk what does not fit, which
 * takes ten times the time. So the rows are divided by what they are sorted by into ranges that
 * fit, and each range is read from the inputs and sorted alone, one after the other.
 */
#ifndef STACKSEXPORT_FLEET_MERGERANGES_H
#define STACKSEXPORT_FLEET_MERGERANGES_H

#include "stacksexport/duck/db.h"

/*
 * Makes the view merge_rows: the rows of merge_files in [merge_from, merge_to), sorted. It has the
 * columns that `with_values` has a bit for, by their numbers in a file; the others are null in all
 * rows. Sets *cnt to the number of rows. Returns 0, -EIO if the files cannot be read, or -errno
 * (already logged).
 */
int merge_ranges__make_view(struct db *, uint64_t with_values, uint64_t *cnt);

#endif
