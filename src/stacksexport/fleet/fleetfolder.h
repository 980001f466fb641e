/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet folder: the events of many hosts, in files that engines of SQL read.
 *
 *   events/day=2026-11-26/hour=07/part-ID.parquet      sorted by command, host, timestamp
 *   stacks/day=2026-11-26/part-ID.parquet              each stack of the day once
 *   processes/day=2026-11-26/part-ID.parquet
 *   _stacks/merged/TABLE/day=2026-11-26/ID             the ledger: which inputs part-ID contains
 *   _stacks/staging/TABLE.PARTITION.ID.parquet         parts that are not complete
 *
 * Engines skip names that begin with an underscore. A part is complete when its entry in the
 * ledger exists; then it gets its name. A merge that was killed in between does that when it runs
 * again, and removes the parts without an entry.
 */
#ifndef STACKSEXPORT_FLEET_FLEETFOLDER_H
#define STACKSEXPORT_FLEET_FLEETFOLDER_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* In the order in which they are written: a reader finds the stacks of each event. */
enum fleet_table { FLEET_STACKS, FLEET_PROCESSES, FLEET_EVENTS, FLEET_TABLE_CNT };

struct fleet_table_facts {
	const char *name;
	const char *batch_prefix; /* of the file of a batch */
	int64_t hours;		  /* length of a partition */
};

extern const struct fleet_table_facts fleet_tables[FLEET_TABLE_CNT];

/* The metadata that only files of a fleet folder have. */
#define FLEET_VERSION_KEY "stacks.fleet_version"
#define FLEET_VERSION	  "1"

#define FLEET_STATE "_stacks"
#define HOUR_NS	    3600000000000

/* The number of the partition in which a time lies. */
static inline int64_t fleet_partition__of(enum fleet_table table, int64_t ns)
{
	return ns / (fleet_tables[table].hours * HOUR_NS);
}

static inline int64_t fleet_partition__begin_ns(enum fleet_table table, int64_t partition)
{
	return partition * fleet_tables[table].hours * HOUR_NS;
}

/* One file of a fleet folder. */
struct fleet_part {
	enum fleet_table table;
	int64_t partition;
	uint64_t id; /* of its inputs */
};

#define FLEET_PART_NAME_SZ 96

/* "events/day=2026-11-26/hour=07" */
void fleet_part__folder(const struct fleet_part *, char out[FLEET_PART_NAME_SZ]);

/* "day=2026-11-26" */
void fleet_part__day(const struct fleet_part *, char out[FLEET_PART_NAME_SZ]);

struct fleet {
	const char *dir; /* borrowed */
	int lock;
};

/* Makes the folder if it is missing, waits for no other merge, and ends what a killed merge left.
 * Returns 0 or -errno (already logged). Call fleet__close() in either case. */
int fleet__open(struct fleet *, const char *dir);
void fleet__close(struct fleet *);

/* Returns the path at which a part is written, or NULL without memory; the caller frees it. */
char *fleet__staging(const struct fleet *, const struct fleet_part *);

/* Completes a part: syncs it, writes its entry, gives it its name. `has_rows`: false if there is no
 * file, only the entry. Returns 0 or -errno (already logged). */
int fleet__commit(const struct fleet *, const struct fleet_part *, const struct buf *entry,
		  int has_rows);

#endif
