/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers for functions, so that a query handles the names of a function once and not once per
 * frame of each stack:
 *
 *   function_ids(frames)   the functions of a list of frames (function_of() of stacks.sql)
 *   FROM functions_seen()  id, name and module of all functions that have a number;
 *                          works_for_caller: of libc or a runtime, or without a name
 *
 * The numbers differ from run to run, as DuckDB's threads give them out.
 */
#ifndef STACKSEXPORT_DUCK_FUNCTIONIDS_H
#define STACKSEXPORT_DUCK_FUNCTIONIDS_H

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/db.h"
#include "stacksexport/duck/functionat.h"

struct function_numbers;

/* Returns the largest number. */
size_t function_ids__cnt(struct function_numbers *);

/* Sets the traits of each function (model/waittraits.h); of unknown numbers 0. */
void function_ids__traits(struct function_numbers *, const int32_t *ids, size_t cnt,
			  uint16_t *traits);

/* A function of SQL that gives lists of numbers. */
struct function_ids_scalar {
	const char *name;
	duckdb_scalar_function_t run; /* its extra info is the struct function_numbers */
	bool takes_frames;	      /* not numbers */
};
/* Adds one. Returns 0 or -EINVAL (already logged). */
int function_ids__add(struct db *, struct function_numbers *, const struct function_ids_scalar *);

/* Reserves as many numbers as the lists of a vector have elements, and `more` for each list.
 * Returns the place of the numbers, or NULL if out of memory. */
int32_t *function_ids__reserve(const struct cells *lists, idx_t rows, idx_t more,
			       duckdb_vector output);

/* Registers them in the database, which owns *out; borrows `places`. Returns 0 or -errno (already
 * logged). */
int function_ids__register(struct db *, struct function_places *places,
			   struct function_numbers **out);

#endif
