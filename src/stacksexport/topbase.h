/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables from which those of `stacksexport top` are made (sql/top/). */
#ifndef STACKSEXPORT_TOPBASE_H
#define STACKSEXPORT_TOPBASE_H

#include "stacksexport/duck/db.h"

/* How the tables are made. */
struct top_base_options {
	const char *by; /* what rows are by: "command", "process" … (--by) */
	bool by_total;	/* functions are ordered by total time */
};

/* How many rows there are of CPU time and of off-CPU time. */
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
