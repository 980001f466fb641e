/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of `events` in a fleet folder, and those of them that the inputs of a part have. */
#ifndef STACKSEXPORT_FLEET_MERGECOLUMNS_H
#define STACKSEXPORT_FLEET_MERGECOLUMNS_H

#include "stacksexport/duck/db.h"
#include "store/columns.h"

/* The table `events` of a fleet folder: that of a recording, but ids have a sign. Its rows are
 * struct row (store/row.h). */
struct fleet_events {
	struct table table;
	struct column columns[TABLE_COLUMNS_MAX];
};

void fleet_events__init(struct fleet_events *);

struct merge_columns {
	struct buf select;	      /* "command", "host" …, with a NUL */
	size_t of[TABLE_COLUMNS_MAX]; /* the numbers of the selected columns in the table */
	size_t cnt;
	size_t row_sz; /* bytes of a row with these columns in a batch */
};

#define MERGE_WHY_SZ 256

/*
 * Finds the columns of merge_files that `with_values` has a bit for, by their numbers in a file;
 * the others are null in all rows. Returns 0, -EBADMSG with a reason in `why` if the table lacks
 * one of the files' columns or the files lack one that is needed, -EIO if they cannot be read, or
 * -errno (already logged). Call merge_columns__free() in each case.
 */
int merge_columns__read(struct merge_columns *, struct db *, uint64_t with_values,
			char why[MERGE_WHY_SZ]);
void merge_columns__free(struct merge_columns *);

#endif
