/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of each function: those of `stacksexport top`. */
#ifndef STACKSEXPORT_WEB_FUNCTIONSUMS_H
#define STACKSEXPORT_WEB_FUNCTIONSUMS_H

#include "stacksexport/web/metricsums.h"

struct function_sums {
	uint32_t function;
	int64_t self, total, events;
};

/* Entry i is of function i of the stackset, until it is sorted. */
struct function_table {
	struct function_sums *rows;
	size_t cnt;
	int64_t total;
};

/* Sums up a tree's values by function. A recursive function counts once in a total. Must hold the
 * model's lock. Returns 0 or -ENOMEM; function_table__free() in either case. */
int function_table__make(struct function_table *, const struct metric_shape *,
			 const struct metric_sums *);
void function_table__free(struct function_table *);

#endif
