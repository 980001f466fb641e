/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a query, a stack and two integers, as samples of a profile. */
#ifndef STACKSEXPORT_PROFILE_SAMPLES_H
#define STACKSEXPORT_PROFILE_SAMPLES_H

#include "pprof/builder.h"
#include "stacksexport/duck/db.h"

struct samples_stats {
	size_t rows;
	int64_t quantum_ns; /* every row's value is its count times this; -1: it is not */
};

/* How a query says what a stack is. */
enum samples_form { SAMPLES_OF_FRAMES, SAMPLES_OF_IDS, SAMPLES_OF_PARTS };

/* A query, and what its columns are. */
struct samples {
	const char *query; /* what it is called, and its last statement; borrowed */
	const char *sql;
	enum samples_form form;
	char *names[BUILDER_VALUE_CNT]; /* of the values */
};

/*
 * Looks whether the columns are what a profile needs. 0, or -errno after saying on stderr what the
 * query has and what is needed; samples__free() in either case.
 */
int samples__init(struct samples *, struct db *, const char *query, const char *sql);
void samples__free(struct samples *);

/* Runs the query and feeds all its rows to the builder. 0 or -errno; reports. */
int samples__read(const struct samples *, struct db *, struct builder *, struct samples_stats *);

#endif
