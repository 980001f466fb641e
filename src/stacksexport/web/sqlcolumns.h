/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a query's result as JSON. Stacks are arrays of names, leaf first. */
#ifndef STACKSEXPORT_WEB_SQLCOLUMNS_H
#define STACKSEXPORT_WEB_SQLCOLUMNS_H

#include "stacksexport/duck/db.h"
#include "stacksexport/model/model.h"

/* Appends the query, with each column converted to a type that JSON has, and a NUL. Returns 0 or
 * -ENOMEM. */
int sql_columns__wrap(duckdb_prepared_statement, const char *sql, struct buf *out);

/* Appends the field `columns`: the name and type of each column. */
void sql_columns__show(duckdb_prepared_statement, struct buf *out);

/* Appends one row as an array. Takes the model's lock for stacks that are IDs. */
void sql_columns__row(struct model *, duckdb_data_chunk, idx_t row, struct buf *out);

#endif
