/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which inputs a fleet folder contains already. An input is known by its content (the end of its
 * file), so that copies and other paths of it do not count twice. An entry of the ledger is a text
 * file, one line per input: 16 hexadecimal digits, and " +" if no row of the input is left to
 * merge. Other lines begin with #.
 */
#ifndef STACKSEXPORT_FLEET_MERGELEDGER_H
#define STACKSEXPORT_FLEET_MERGELEDGER_H

#include <stdbool.h>

#include "stacksexport/fleet/fleetfolder.h"

struct merge_ledger {
	uint64_t *keys;
	size_t cnt, cap;
	size_t sorted;			/* of these, the first ones */
	int64_t *days[FLEET_TABLE_CNT]; /* that have been read */
	size_t day_cnt[FLEET_TABLE_CNT], day_cap[FLEET_TABLE_CNT];
};

void merge_ledger__free(struct merge_ledger *);

/* Reads the entries of a day (since 1970) once. Returns 0 or -errno (already logged). */
int merge_ledger__read_day(struct merge_ledger *, const struct fleet *, enum fleet_table,
			   int64_t day);

/* Returns true if the days that were read have the rows of an input in a partition. */
bool merge_ledger__has(struct merge_ledger *, const struct fleet_part *, uint64_t input);

/* Returns true if they have all of its rows. */
bool merge_ledger__is_done(struct merge_ledger *, enum fleet_table, uint64_t input);

/* Adds an input, and if `done` that none of its rows is left. Returns 0 or -ENOMEM. */
int merge_ledger__add(struct merge_ledger *, const struct fleet_part *, uint64_t input, bool done);

/* Appends an input to the text of an entry. */
void merge_ledger__print(struct buf *, uint64_t input, bool done);

#endif
