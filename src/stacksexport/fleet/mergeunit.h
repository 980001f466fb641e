/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the part of one unit. */
#ifndef STACKSEXPORT_FLEET_MERGEUNIT_H
#define STACKSEXPORT_FLEET_MERGEUNIT_H

#include "stacksexport/duck/db.h"
#include "stacksexport/fleet/mergeplan.h"

/* What all units of a merge share. */
struct merger {
	struct fleet fleet;
	struct db db;
	struct merge_ledger ledger;
	struct merge_inputs in;
	char *sql[FLEET_TABLE_CNT]; /* sql/merge/TABLE.sql; NULL: events */
	struct merge_unit unit;
	uint64_t part_cnt, row_cnt, read_sz, written_sz; /* so far */
};

/*
 * Writes m->unit. If inputs turn out to be damaged, marks them as bad, with a warning, and returns
 * -EAGAIN: plan again. Returns 0 or -errno (already logged).
 */
int merge_unit__write(struct merger *m);

#endif
