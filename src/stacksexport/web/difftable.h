/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of `stacksexport diff`. */
#ifndef STACKSEXPORT_WEB_DIFFTABLE_H
#define STACKSEXPORT_WEB_DIFFTABLE_H

#include "stacksexport/export_options.h"
#include "stacksexport/printer.h"
#include "stacksexport/web/diffseries.h"

/* How values of a metric are printed. */
struct diff_unit {
	const char *unit, *name; /* name: "" for counts */
	double divisor;
	int decimals;
};

const struct diff_unit *diff_unit__of(const struct metric *);

#define DIFF_LABEL_MAX 2

/* One table. Its last columns say what a row is about. */
struct diff_table {
	const char *title, *field; /* field: heading of the values, such as "self"; or "" */
	const char *labels[DIFF_LABEL_MAX]; /* headings of the last columns; NULL: no column */
	const struct diff_unit *unit;
	const struct diff_series *series;
	double all; /* of all of A */
	void (*print_labels)(const void *arg, struct printer *, size_t row);
	const void *arg;
};

/* Checks --sort. Returns STATUS_OK, or STATUS_USAGE after a message. */
int diff_table__check_order(const struct export_options *);

/* Prints the rows that changed significantly, or with --all those that have a value. Returns 0 or
 * -ENOMEM. */
int diff_table__print(const struct diff_table *, const struct export_options *);

#endif
