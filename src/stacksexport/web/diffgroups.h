/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed from side A to side B, by process, container and so on: `stacksexport diff --by`. */
#ifndef STACKSEXPORT_WEB_DIFFGROUPS_H
#define STACKSEXPORT_WEB_DIFFGROUPS_H

#include "base/strtab.h"
#include "stacksexport/web/diffseries.h"

/* Zeroed is empty. */
struct diff_groups {
	struct strtab *names; /* row i has the name with the ID i */
	size_t cnt;	      /* rows; names from here on belong to row 0 */
	struct diff_series series;
};

/* Compares the sides by sides.by; their lists are full. Groups with the same name are one. Returns
 * 0 or -ENOMEM; call diff_groups__free() in either case. */
int diff_groups__make(struct diff_groups *, struct sides *);
void diff_groups__free(struct diff_groups *);

/* Returns the name of a row; "[other]" for the groups that have no row of their own. */
const char *diff_groups__name(const struct diff_groups *, size_t row, size_t *sz);

#endif
