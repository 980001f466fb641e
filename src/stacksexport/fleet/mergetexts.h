/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids of texts in the vectors of a DuckDB result, with a cache of those that were looked up. */
#ifndef STACKSEXPORT_FLEET_MERGETEXTS_H
#define STACKSEXPORT_FLEET_MERGETEXTS_H

#include <duckdb.h>

#include "base/strtab.h"

#define MERGE_TEXTS_CACHED 256

/* Zero it at first, and when the texts are forgotten. */
struct merge_texts {
	struct merge_text {
		uint64_t words[2]; /* of the duckdb_string_t */
		uint32_t id;
		uint32_t chunk; /* a long text lies in this chunk */
	} cached[MERGE_TEXTS_CACHED];
};

/* Returns the id of a text; 0 without memory, and for an empty one. `chunk` is the number of its
 * chunk, not 0. A text longer than the store's limit is cut. */
uint32_t merge_texts__id(struct merge_texts *, struct strtab *, const duckdb_string_t *,
			 uint32_t chunk);

#endif
