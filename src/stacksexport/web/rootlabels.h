/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of the roots by which the rows of a metric are kept apart (sql/view/labels.sql). */
#ifndef STACKSEXPORT_WEB_ROOTLABELS_H
#define STACKSEXPORT_WEB_ROOTLABELS_H

#include <duckdb.h>

#include "base/strtab.h"
#include "stacksexport/model/keymap.h"

/* Zeroed is empty. */
struct root_labels {
	struct keymap keys; /* numbers of roots */
	uint32_t *texts;    /* by index of the key: an ID in the table of texts */
	size_t cap;
};

/* Reads the numbers and texts of metric_rows.labels, and adds the texts to the table. Returns 0 or
 * -ENOMEM; call root_labels__free() in either case. */
int root_labels__read(struct root_labels *, struct strtab *, duckdb_result *);
void root_labels__free(struct root_labels *);

/* Returns the ID of the root's text; 0 if the number has none. */
uint32_t root_labels__text(const struct root_labels *, uint32_t root);

#endif
