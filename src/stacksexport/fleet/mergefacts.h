/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a merge has to know of its inputs: rows, times and columns, from the ends of the
 * files.
 */
#ifndef STACKSEXPORT_FLEET_MERGEFACTS_H
#define STACKSEXPORT_FLEET_MERGEFACTS_H

#include "stacksexport/duck/db.h"
#include "stacksexport/fleet/mergeinputs.h"

/* Fills the facts of all batches that are not done. Marks a batch as bad, with a warning, if it
 * cannot be read or its times are impossible. Returns 0 or -errno (already logged). */
int merge_facts__read(struct merge_inputs *, struct db *);

/* Runs SET VARIABLE merge_files = [path, …]. Returns 0 or -errno (already logged). */
int merge_facts__set_files(struct db *, char *const *paths, size_t cnt);

#endif
