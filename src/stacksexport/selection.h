/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a recording that --from, --to, --pid and the like select. Each given option sets one
 * of DuckDB's variables that sql/stacks.sql describes; the views there apply them.
 */
#ifndef STACKSEXPORT_SELECTION_H
#define STACKSEXPORT_SELECTION_H

#include "base/buf.h"
#include "stacksexport/duck/db.h"
#include "stacksexport/export_options.h"

/* Checks the texts of the options. STATUS_OK, or STATUS_USAGE after reporting. */
int selection__check(const struct export_options *);

/* Where the recording begins and ends, which --from and --to may count from. */
struct selection_extent {
	int64_t start_ns, end_ns;
};

/* Reads the extent if --from or --to is given; else it is 0. Returns 0 or -errno (reported). */
int selection__read_extent(struct db *, const struct export_options *, struct selection_extent *);

/* Sets the variables of a connection. Returns 0 or -errno (reported). */
int selection__set(struct db *, const struct export_options *, const struct selection_extent *);

/* Selects the events of a command; of all for NULL. 0 or -errno; reports. */
int selection__set_command(struct db *, const char *command);

/* Appends "--from -30s --pid 7"; nothing if no such option was given. */
void selection__describe(struct buf *, const struct export_options *);

#endif
