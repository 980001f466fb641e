/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a builder by their ids, for the writers of formats that resolve them. */
#ifndef PPROF_BUILDER_INDEX_H
#define PPROF_BUILDER_INDEX_H

#include "pprof/builder_private.h"

/* Entry i has the id i; entry 0 is NULL. Borrows the entries. */
struct builder_index {
	const struct mapping_entry **mappings;
	const struct location_entry **locations;
	const struct function_entry **functions;
};

/* Returns 0 or -ENOMEM; builder_index__free() in either case. */
int builder_index__init(struct builder_index *, struct builder *);
void builder_index__free(struct builder_index *);

#endif
