/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the inputs of a merge into units: the inputs of one part of the fleet folder. */
#ifndef STACKSEXPORT_FLEET_MERGEPLAN_H
#define STACKSEXPORT_FLEET_MERGEPLAN_H

#include "stacksexport/fleet/mergeinputs.h"
#include "stacksexport/fleet/mergeledger.h"

/* A batch that has rows in a partition. */
struct merge_entry {
	int64_t partition;
	uint64_t schema;
	struct merge_batch *batch;
};

struct merge_plan {
	enum fleet_table table;
	struct merge_entry *entries; /* by partition, columns, folder, name */
	size_t cnt, cap;
	size_t next; /* the first entry of the next unit */
};

#define MERGE_UNIT_MAX 4096 /* DuckDB keeps the ends of all files in memory */

struct merge_unit {
	struct fleet_part part;
	struct merge_batch *batches[MERGE_UNIT_MAX]; /* borrowed */
	size_t cnt;
};

/* Finds what is not in the ledger. Marks files as done of which nothing is left. Returns 0 or
 * -errno (already logged). */
int merge_plan__make(struct merge_plan *, struct merge_inputs *, struct merge_ledger *,
		     enum fleet_table);
void merge_plan__free(struct merge_plan *);

/* Takes the next unit, without inputs that the ledger already has. Returns false if there is none.
 */
bool merge_plan__next(struct merge_plan *, struct merge_ledger *, struct merge_unit *);

/* The first and the last partition with rows of a batch; first > last: it has none. */
int64_t merge_batch__first(const struct merge_batch *, enum fleet_table);
int64_t merge_batch__last(const struct merge_batch *, enum fleet_table);

#endif
