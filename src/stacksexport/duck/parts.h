/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks in a result as lists of parts, the macros of sql/stacks.sql: the frames of a stack that is
 * in the recording, in either direction, or a label. A query that says which stacks it means, and
 * does not fetch their frames, has them fetched once for all rows.
 */
#ifndef STACKSEXPORT_DUCK_PARTS_H
#define STACKSEXPORT_DUCK_PARTS_H

#include "pprof/builder.h"
#include "stacksexport/duck/cells.h"

/* Fields of a part; all have to be there. */
enum part_field { PART_STACK_ID, PART_LABEL, PART_REVERSED, PART_FIELD_CNT };

/* A vector of lists of parts. */
struct parts {
	struct cells list, fields[PART_FIELD_CNT];
};

bool parts__is_list(duckdb_logical_type);

/* Borrows `vector`, of a type that is such a list, as long as its chunk lives. */
struct parts parts__on(duckdb_vector vector);

/* Adds what a row consists of to the builder's sample; its stacks are those that it keeps. */
void parts__add(const struct parts *, idx_t row, struct builder *);

#endif
