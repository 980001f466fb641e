// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DuckDB knows only the converted types, Arrow prefers the logical ones: both are written. Field
 * numbers are those of parquet.thrift.
 */
#include "store/schema.h"

#include "store/chunkmeta.h"

enum repetition { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum converted { CONVERTED_UTF8 = 0, CONVERTED_LIST = 3, CONVERTED_UINT_64 = 14 };
enum logical { LOGICAL_STRING = 1, LOGICAL_LIST = 3, LOGICAL_INTEGER = 10 };

static void schema_put_group(struct thrift *t, const char *name, enum repetition rep,
			     size_t children)
{
	thrift__element(t);
	thrift__i32(t, 3, (int32_t)rep);
	thrift__string(t, 4, name);
	thrift__i32(t, 5, (int32_t)children);
}

static void schema_put_column(struct thrift *t, const struct column *c)
{
	thrift__element(t);
	thrift__i32(t, 1, column__physical(c));
	thrift__i32(t, 3, c->nullable || c->optional ? OPTIONAL : REQUIRED);
	thrift__string(t, 4, c->name);
	if (c->type == COLUMN_STRING) {
		thrift__i32(t, 6, CONVERTED_UTF8);
		thrift__struct(t, 10);
		thrift__empty(t, LOGICAL_STRING);
		thrift__end(t);
	} else if (c->type == COLUMN_UINT64) {
		thrift__i32(t, 6, CONVERTED_UINT_64);
		thrift__struct(t, 10);
		thrift__struct(t, LOGICAL_INTEGER);
		thrift__i8(t, 1, 64);
		thrift__bool(t, 2, false); /* signed */
		thrift__end(t);
		thrift__end(t);
	}
	thrift__end(t);
}

static void schema_put_columns(struct thrift *t, const struct table *table)
{
	for (size_t i = 0; i < table->column_cnt; i++)
		schema_put_column(t, &table->columns[i]);
}

/* Writes the three-level form, with fixed inner names (parquet-format, LogicalTypes.md, Lists). */
static void schema_put_list(struct thrift *t, const struct table *table)
{
	schema_put_group(t, table->list_name, REQUIRED, 1);
	thrift__i32(t, 6, CONVERTED_LIST);
	thrift__struct(t, 10);
	thrift__empty(t, LOGICAL_LIST);
	thrift__end(t);
	thrift__end(t);
	schema_put_group(t, "list", REPEATED, 1);
	thrift__end(t);
	schema_put_group(t, "element", REQUIRED, table->list->column_cnt);
	thrift__end(t);
	schema_put_columns(t, table->list);
}

void schema__put(struct thrift *t, const struct table *table)
{
	size_t children = table->column_cnt + (table->list ? 1 : 0);
	size_t nodes = 1 + table->column_cnt + (table->list ? 3 + table->list->column_cnt : 0);

	thrift__list(t, 2, THRIFT_STRUCT, nodes);
	thrift__element(t);
	thrift__string(t, 4, table->name);
	thrift__i32(t, 5, (int32_t)children);
	thrift__end(t);
	schema_put_columns(t, table);
	if (table->list)
		schema_put_list(t, table);
}

size_t schema__leaf_cnt(const struct table *table)
{
	return table->column_cnt + (table->list ? table->list->column_cnt : 0);
}

void schema__put_orders(struct thrift *t, const struct table *table)
{
	size_t cnt = schema__leaf_cnt(table);

	thrift__list(t, 7, THRIFT_STRUCT, cnt);
	for (size_t i = 0; i < cnt; i++) {
		thrift__element(t);
		thrift__empty(t, 1); /* TYPE_ORDER */
		thrift__end(t);
	}
}
