/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a recording and their columns. The schema, the batch in memory and the Parquet
 * writer loop over these. To add a column, add a field in row.h and a row in columns.c.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_type {
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_UINT64,
	COLUMN_STRING, /* valid UTF-8; in memory, the id of a string of the batch */
	COLUMN_BINARY, /* like COLUMN_STRING, but any bytes */
	COLUMN_TYPE_CNT,
};

struct column {
	const char *name;
	enum column_type type;
	uint32_t off; /* of the field in the table's struct; 4 bytes for INT32 and ids, else 8 */
	bool nullable;
	/* Nullable columns only: the bit in the table's `present` word that means "not null"; 0:
	 * the value 0 is null. */
	uint32_t present;
	bool optional; /* readers may take it for nullable, but no value is null */
};

struct table {
	const char *name;
	const struct column *columns;
	size_t column_cnt;
	size_t row_sz;	       /* of the struct */
	size_t present_off;    /* of the word with the `present` bits */
	bool sorted;	       /* rows are sorted by the first column when they are written */
	const char *list_name; /* one LIST<STRUCT> may follow the columns; NULL: none */
	const struct table *list;
};

/* The row of stacktraces-N. Its list has struct row_frame elements. */
struct stack_row {
	uint64_t stack_id;
	int32_t repeated; /* 1: an earlier batch of the recording has the stack, too */
};

extern const struct table events_table;	     /* of struct row */
extern const struct table processes_table;   /* of struct process_row */
extern const struct table stacktraces_table; /* of struct stack_row, list of struct row_frame */

#define TABLE_COLUMNS_MAX 64

static inline bool column__is_bytes(const struct column *c)
{
	return c->type == COLUMN_STRING || c->type == COLUMN_BINARY;
}

/* Returns the bytes of the field in the table's struct and in the batch. */
static inline size_t column__width(const struct column *c)
{
	return c->type == COLUMN_INT64 || c->type == COLUMN_UINT64 ? 8 : 4;
}

#endif
