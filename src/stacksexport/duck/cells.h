/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads values from the vectors of a DuckDB result. */
#ifndef STACKSEXPORT_DUCK_CELLS_H
#define STACKSEXPORT_DUCK_CELLS_H

#include <duckdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A vector, with its parts that every row needs. */
struct cells {
	duckdb_vector vector;
	const void *data;
	uint64_t *validity; /* NULL: no row is null */
	duckdb_type type;
};

/* Borrows `vector`, which lives as long as its chunk. In an invalid vector all values are null. */
struct cells cells__on(duckdb_vector vector);
bool cells__is_null(const struct cells *, idx_t row);

bool cells__type_is_integer(duckdb_type);
/* Returns the type of a list's elements, or DUCKDB_TYPE_INVALID if the type is no list. */
duckdb_type cells__element_type(duckdb_logical_type list);

/* Returns an integer of any width, limited to the range of int64_t; 0 for null. */
int64_t cells__int(const struct cells *, idx_t row);

/* Returns a string of `*sz` bytes that does not end with a NUL; NULL and 0 for null. The chunk owns
 * it. */
const char *cells__str(const struct cells *, idx_t row, size_t *sz);

/* Returns the range of a list's elements; an empty one for null. */
duckdb_list_entry cells__list(const struct cells *, idx_t row);

#endif
