/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of `stacksexport top`: the result of a query of sql/top/, with what its rows add up
 * to. */
#ifndef STACKSEXPORT_TOPTABLE_H
#define STACKSEXPORT_TOPTABLE_H

#include <stdio.h>

#include "stacksexport/duck/db.h"

struct top_table_options {
	const char *title; /* NULL: none */
	const char *by;	   /* what rows are by: the title of their column */
	size_t row_max;
	size_t width; /* of a line; 0: whatever it takes */
	FILE *out;
};

/* Prints the table of a query; nothing if it is empty. Returns 0 or -errno (reported). */
int top_table__print(struct db *, const char *path, const struct top_table_options *);

#endif
