/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of one row group in memory, a vector per column. A column that had only its default so
 * far (null, or 0 and "" where it is required) has no vector and costs nothing; the first other
 * value makes one.
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include <stdbool.h>

#include "store/columns.h"

struct vector {
	void *data;	  /* column__width() bytes a row; NULL: all default */
	uint8_t *present; /* one byte a row where the column has a `present` bit */
};

struct batch {
	const struct table *table;
	size_t cnt, cap;     /* rows */
	struct batch *list;  /* elements of all rows, one after the other; NULL: no list */
	uint32_t *list_cnts; /* elements per row */
	struct vector vectors[];
};

/* For at most cap rows and, where the table has a list, list_cap elements. NULL + errno. */
struct batch *batch__new(const struct table *, size_t cap, size_t list_cap);
void batch__free(struct batch *);

static inline size_t batch__room(const struct batch *b)
{
	return b->cap - b->cnt;
}

/* Copies an array of cnt of the table's structs; there must be room. A block of rows is turned into
 * columns several times faster than one row. 0 or -ENOMEM, then nothing was added. */
int batch__append(struct batch *, const void *rows, size_t cnt);
/* One row and its list: an array of cnt of the list's structs. */
int batch__append_list(struct batch *, const void *row, const void *elements, size_t cnt);

/* The row as it was appended, into one of the table's structs. */
void batch__get(const struct batch *, size_t row, void *out);

/* All rows of a column, widened (INT32: with its sign), in the given order (NULL: as they came).
 * Where a row is null its value means nothing. */
void batch__values(const struct batch *, size_t column, const uint32_t *order, uint64_t *values);
/* Of a nullable column: 1 for each row that is not null, else 0. */
void batch__defined(const struct batch *, size_t column, const uint32_t *order, uint32_t *defined);

#endif
