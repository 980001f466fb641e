/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of events on their way from the inputs of a part into its file. If they do not fit into
 * memory, they are divided into ranges. A range is sorted in memory, a vector per column, and
 * written as row groups. Texts are kept once.
 */
#ifndef STACKSEXPORT_FLEET_MERGEROWS_H
#define STACKSEXPORT_FLEET_MERGEROWS_H

#include "stacksexport/fleet/mergecolumns.h"
#include "stacksexport/fleet/mergeranges.h"

struct merge_rows;

struct merge_rows_options {
	struct db *db;			     /* all are borrowed */
	const struct merge_columns *columns; /* of the inputs */
	const struct merge_ranges *ranges;
	const struct fleet_events *events;
	const char *sources; /* "profile,switch" */
	const char *dir;     /* for a file without a name */
	int fd;		     /* of the part's file */
};

/* Returns NULL + errno. */
struct merge_rows *merge_rows__new(const struct merge_rows_options *);
void merge_rows__free(struct merge_rows *);

/* Returns how many rows fit into memory. */
size_t merge_rows__max(const struct merge_columns *);

/*
 * Reads the rows of merge_files in [merge_from, merge_to) and writes them, sorted by command, host
 * and time. What does not fit into memory in spite of the ranges is sorted in pieces. Returns 0,
 * -EIO with a reason in `why` if the files cannot be read, -EBADMSG with a reason if a column has
 * another type, or -errno.
 */
int merge_rows__write(struct merge_rows *, char why[MERGE_WHY_SZ]);

/* Writes the end of the file and sets *cnt to its rows. Returns 0 or -errno. */
int merge_rows__finish(struct merge_rows *, uint64_t *cnt);

#endif
