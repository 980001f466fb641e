/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the file of a part of events. Without DuckDB's sort and its writer, which take four times
 * the CPU time: they sort and hash texts, and these few are numbered here. */
#ifndef STACKSEXPORT_FLEET_MERGEEVENTS_H
#define STACKSEXPORT_FLEET_MERGEEVENTS_H

#include "stacksexport/fleet/mergecolumns.h"

struct merge_events {
	struct db *db;	      /* with merge_files, merge_from, merge_to */
	const char *path;     /* of the file */
	const char *dir;      /* for a file without a name */
	const char *sources;  /* that the inputs were recorded with */
	uint64_t with_values; /* columns that are not null in all rows, by their numbers */
	uint64_t at_most;     /* the inputs have no more rows */
};

/*
 * Writes the file and sets *cnt to its rows. Returns 0, -EIO with a reason in `why` if the inputs
 * cannot be read, -EBADMSG with a reason if they have columns that a fleet folder does not have, or
 * -errno (already logged).
 */
int merge_events__write(const struct merge_events *, uint64_t *cnt, char why[MERGE_WHY_SZ]);

#endif
