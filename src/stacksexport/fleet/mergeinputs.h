/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a merge reads: all batches of the recordings in some folders, and the parts of
 * other fleet folders. */
#ifndef STACKSEXPORT_FLEET_MERGEINPUTS_H
#define STACKSEXPORT_FLEET_MERGEINPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "stacksexport/fleet/fleetfolder.h"

struct merge_file {
	uint64_t id;	 /* digest of the end of the file */
	uint64_t schema; /* of the names and types of its columns */
	uint64_t sz;
	uint64_t row_cnt;
	uint64_t with_values; /* columns that are not null in all rows, by their numbers */
	int64_t mtime_ns;
	bool is_there, is_done; /* is_done: none of its rows is left to merge */
};

/* A batch, or one part of a fleet folder. */
struct merge_batch {
	uint32_t folder, suffix; /* in .names; the name of a batch's file is its prefix and this */
	bool is_part;
	bool is_bad; /* a file cannot be read; already logged */
	int64_t first_ns,
		last_ns; /* of its events, after merge_facts__read(); first > last: none */
	struct merge_file files[FLEET_TABLE_CNT];
};

struct merge_inputs {
	struct merge_batch *batches; /* by folder, then by name */
	size_t cnt, cap;
	struct strtab *names;
	size_t part_cnt;
};

/* Finds the files below the folders `args`, but not in `output`. When called again, it does not
 * read files again that are done and have not changed. Returns 0 or -errno (already logged). Call
 * merge_inputs__free() in either case. */
int merge_inputs__find(struct merge_inputs *, const char *const *args, size_t cnt,
		       const char *output);
void merge_inputs__free(struct merge_inputs *);

/* Returns the path of a file, or NULL without memory; the caller frees it. */
char *merge_inputs__path(const struct merge_inputs *, const struct merge_batch *, enum fleet_table);

/* The files that are not done: their size, and when the oldest of them was written. */
struct merge_pending {
	uint64_t sz;
	int64_t since_ns; /* INT64_MAX: there are none */
};

struct merge_pending merge_inputs__pending(const struct merge_inputs *);

/* Removes the batches of recordings of which no row is left to merge, if they are as they were
 * read. Returns how many. */
size_t merge_inputs__remove_done(const struct merge_inputs *);

#endif
