/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in the vectors of a DuckDB result. */
#ifndef STACKSEXPORT_DUCK_CELLS_H
#define STACKSEXPORT_DUCK_CELLS_H

#include <duckdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A vector with what is asked of it for each row, asked once. */
struct cells {
	duckdb_vector vector;
	const void *data;
	uint64_t *validity; /* NULL: no row is null */
	duckdb_type type;
};

/* Borrows `vector`, which lives as long as its chunk. An invalid vector is one of nulls. */
struct cells cells__on(duckdb_vector vector);
bool cells__is_null(const struct cells *, idx_t row);

bool cells__type_is_integer(duckdb_type);
duckdb_type cells__element_type(duckdb_logical_type list); /* DUCKDB_TYPE_INVALID: it is no list */

/* An integer of any width, at the ends of int64_t when it lies beyond; 0 for null. */
int64_t cells__int(const struct cells *, idx_t row);

/* A string, not NUL-terminated; NULL and 0 for null. Borrowed from the chunk. */
const char *cells__str(const struct cells *, idx_t row, size_t *sz);

/* Where the elements of a list are; none for null. */
duckdb_list_entry cells__list(const struct cells *, idx_t row);

#endif
