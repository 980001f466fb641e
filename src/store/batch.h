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
	uint8_t *data;	  /* column__width() bytes a row; NULL: all default */
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

/* Copies a row of the table's struct; there must be room. 0 or -ENOMEM, then nothing was added. */
int batch__add(struct batch *, const void *row);
/* The same with the row's list: an array of cnt of the list's structs. */
int batch__add_list(struct batch *, const void *row, const void *elements, size_t cnt);

/* Value of a column in a row, ids and numbers widened (INT32: with its sign). */
uint64_t batch__value(const struct batch *, size_t column, size_t row);
bool batch__is_null(const struct batch *, size_t column, size_t row);

#endif
