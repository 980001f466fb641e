/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/columns.h"
#include "store/thrift.h"

/* FileMetaData.schema: the table's columns and its list, annotated for old and new readers. */
void schema__put(struct thrift *, const struct table *);
/* FileMetaData.column_orders: bounds are ordered as the types say, for every leaf. */
void schema__put_orders(struct thrift *, const struct table *);
size_t schema__leaf_cnt(const struct table *);

#endif
