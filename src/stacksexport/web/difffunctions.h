/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed from side A to side B, by function: the numbers of `stacksexport top` for each. */
#ifndef STACKSEXPORT_WEB_DIFFFUNCTIONS_H
#define STACKSEXPORT_WEB_DIFFFUNCTIONS_H

#include "stacksexport/web/diffseries.h"

enum diff_field {
	DIFF_SELF,
	DIFF_TOTAL,
	DIFF_ALL,
	DIFF_FIELD_CNT
}; /* ALL: the sum of all stacks */

/* Zeroed is empty. Each field has one row per kept function, in their order; DIFF_ALL has one. */
struct diff_functions {
	uint32_t *functions, *place; /* functions: those that are kept; place: by function */
	size_t cnt;
	struct diff_series fields[DIFF_FIELD_CNT];
};

/*
 * Compares the sides. Their lists are full and are of a tree of SHAPE_WAITING. Keeps the functions
 * with at least 0.02 % of the sum of both sides, the largest totals first. Must hold the model's
 * lock. Returns 0 or -ENOMEM; diff_functions__free() in either case.
 */
int diff_functions__make(struct diff_functions *, const struct metric_shape *,
			 const struct sides *);
void diff_functions__free(struct diff_functions *);

struct diff_change diff_functions__change(const struct diff_functions *, enum diff_field,
					  size_t index);

#endif
