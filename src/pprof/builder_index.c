// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/builder_index.h"

#include <errno.h>
#include <stdlib.h>

/* Returns an array of the entries by id, for the caller to free; NULL if out of memory. */
#define BY_ID(entries)                                                    \
	({                                                                \
		__typeof__(entries) e_, next_;                            \
		const __typeof__(*(entries)) **array_ =                   \
			calloc(HASH_COUNT(entries) + 1, sizeof(*array_)); \
		HASH_ITER (hh, entries, e_, next_) {                      \
			if (array_)                                       \
				array_[e_->pb.id] = e_;                   \
		}                                                         \
		array_;                                                   \
	})

int builder_index__init(struct builder_index *index, struct builder *b)
{
	*index = (struct builder_index){ .mappings = BY_ID(b->mappings),
					 .locations = BY_ID(b->locations),
					 .functions = BY_ID(b->functions) };
	return index->mappings && index->locations && index->functions ? 0 : -ENOMEM;
}

void builder_index__free(struct builder_index *index)
{
	free(index->mappings);
	free(index->locations);
	free(index->functions);
	*index = (struct builder_index){ 0 };
}
