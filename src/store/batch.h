/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of one row group in memory, a vector per column. A column that has had only its default
 * so far (null, or 0 and "" if it is required) has no vector and costs nothing; the first other
 * value allocates it.
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include <stdbool.h>

#include "store/columns.h"

struct vector {
	void *data;	  /* column__width() bytes per row; NULL: all default */
	uint8_t *present; /* one byte per row if the column has a `present` bit */
};

struct batch {
	const struct table *table;
	size_t cnt, cap;     /* rows */
	struct batch *list;  /* elements of all rows, concatenated; NULL: no list */
	uint32_t *list_cnts; /* elements per row */
	struct vector vectors[];
};

/* For at most cap rows and, if the table has a list, list_cap elements. Returns NULL and sets
 * errno. */
struct batch *batch__new(const struct table *, size_t cap, size_t list_cap);
void batch__free(struct batch *);

/* Returns a batch with the vectors of `b`, which must live longer, and another number of rows: what
 * reads it gives the order of rows. Only for a table without a list. free() it. NULL: no memory. */
struct batch *batch__view(const struct batch *b, size_t cnt);

/* Returns the bytes of its rows. */
size_t batch__sz(const struct batch *);

static inline size_t batch__room(const struct batch *b)
{
	return b->cap - b->cnt;
}

/* Copies an array of cnt of the table's structs; there must be room. Converting a block of rows to
 * columns is several times faster than converting rows one by one. Returns 0, or -ENOMEM with
 * nothing added. */
int batch__append(struct batch *, const void *rows, size_t cnt);
/* Appends one row and its list: an array of cnt of the list's structs. */
int batch__append_list(struct batch *, const void *row, const void *elements, size_t cnt);

/* Copies the row into one of the table's structs. */
void batch__get(const struct batch *, size_t row, void *out);

/* Returns all rows of a column, widened (INT32: sign-extended), in the given order (NULL: insertion
 * order). The values of null rows are undefined. */
void batch__values(const struct batch *, size_t column, const uint32_t *order, uint64_t *values);
/* For a nullable column: 1 for each row that is not null, else 0. */
void batch__defined(const struct batch *, size_t column, const uint32_t *order, uint32_t *defined);

#endif
