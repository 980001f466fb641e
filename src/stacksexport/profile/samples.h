/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a query, each a stack and two integers, as samples of a profile. */
#ifndef STACKSEXPORT_PROFILE_SAMPLES_H
#define STACKSEXPORT_PROFILE_SAMPLES_H

#include "pprof/builder.h"
#include "stacksexport/duck/db.h"
#include "stacksexport/grouping.h"

struct samples_stats {
	size_t rows;
	int64_t quantum_ns; /* every row's value is its count times this; -1: no such number */
};

/* The forms in which a query returns a stack. */
enum samples_form { SAMPLES_OF_FRAMES, SAMPLES_OF_IDS, SAMPLES_OF_PARTS };

/* A query, and what its columns are. */
struct samples {
	const char *query; /* its name and its last statement; borrowed */
	const char *sql;
	enum samples_form form;
	char *names[BUILDER_VALUE_CNT]; /* of the values */
	/* names at the root of the stacks; borrowed; NULL: none. Not for SAMPLES_OF_FRAMES. */
	const struct grouping *groups;
};

/* Checks that the columns are those of a profile. Returns 0, or -errno after logging what the
 * query has and what is needed; call samples__free() in either case. */
int samples__init(struct samples *, struct db *, const char *query, const char *sql);
void samples__free(struct samples *);

/* Runs the query and adds all its rows to the builder. Returns 0 or -errno (already logged). */
int samples__read(const struct samples *, struct db *, struct builder *, struct samples_stats *);

#endif
