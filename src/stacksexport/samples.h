/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a query, a list of frames and two integers, as samples of a profile. */
#ifndef STACKSEXPORT_SAMPLES_H
#define STACKSEXPORT_SAMPLES_H

#include "stacksexport/builder.h"
#include "stacksexport/cells.h"

struct samples_stats {
	size_t rows;
	int64_t quantum_ns; /* every row's value is its count times this; -1: it is not */
};

/*
 * Whether the columns are what a profile needs; `names` get the values' names, to be freed. 0, or
 * -EINVAL after saying on stderr what `query` has and what is needed.
 */
int samples__check(const char *query, duckdb_result *, char *names[BUILDER_VALUE_CNT]);

/* Feeds all rows of a checked result to the builder. */
void samples__read(duckdb_result *, struct builder *, struct samples_stats *);

#endif
