/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables from which those of `stacksexport top` are made (sql/top/). */
#ifndef STACKSEXPORT_TOPBASE_H
#define STACKSEXPORT_TOPBASE_H

#include "stacksexport/duck/db.h"
#include "stacksexport/export_options.h"

/* How the tables are made. */
struct top_base_options {
	const char *by; /* what rows are by: "command", "process" … (--by) */
	bool by_total;	/* functions are ordered by total time */
};

/* Checks --sort where it orders functions. Returns STATUS_OK, or STATUS_USAGE after a message. */
int top_base__check_order(const struct export_options *);
/* Returns true if --sort orders functions by total time. */
bool top_base__by_total(const struct export_options *);

/* Numbers of rows of CPU time and of off-CPU time. */
struct top_base_rows {
	int64_t cpu, offcpu;
};

/* Makes the tables of CPU samples and of waits by group and stack. Returns 0 or -errno (reported).
 */
int top_base__samples(struct db *, const struct top_base_options *, struct top_base_rows *);

/* Makes the tables of their functions. Call top_base__samples() before. Returns 0 or -errno
 * (reported). */
int top_base__functions(struct db *);

/* Keeps the result of a query of sql/top/ in a temporary table. Returns 0 or -errno (reported). */
int top_base__keep(struct db *, const char *table, const char *path);

#endif
