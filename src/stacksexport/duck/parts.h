/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads stacks in a result that are lists of parts, the macros of sql/stacks.sql: the frames of a
 * recorded stack, in either direction, or a label. A query that only names its stacks, and does not
 * fetch their frames, has them fetched once for all rows.
 */
#ifndef STACKSEXPORT_DUCK_PARTS_H
#define STACKSEXPORT_DUCK_PARTS_H

#include "pprof/builder.h"
#include "stacksexport/duck/cells.h"

/* Fields of a part; all must exist. */
enum part_field { PART_STACK_ID, PART_LABEL, PART_REVERSED, PART_FIELD_CNT };

/* A vector of lists of parts. */
struct parts {
	struct cells list, fields[PART_FIELD_CNT];
};

bool parts__is_list(duckdb_logical_type);

/* Borrows `vector`, which has the type of such a list, as long as its chunk lives. */
struct parts parts__on(duckdb_vector vector);

/* Adds the parts of a row to the builder's sample. The stacks are those that it keeps. */
void parts__add(const struct parts *, idx_t row, struct builder *);

#endif
