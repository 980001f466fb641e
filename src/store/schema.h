/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/columns.h"
#include "store/thrift.h"

/* Writes FileMetaData.schema: the table's columns and its list, annotated for old and new readers.
 */
void schema__put(struct thrift *, const struct table *);
/* Writes FileMetaData.column_orders: the bounds of every leaf have the order of its type. */
void schema__put_orders(struct thrift *, const struct table *);
size_t schema__leaf_cnt(const struct table *);

#endif
