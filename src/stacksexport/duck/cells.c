// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/cells.h"

struct cells cells__on(duckdb_vector vector)
{
	duckdb_logical_type type;
	struct cells c = { .vector = vector };

	if (!vector)
		return c;
	type = duckdb_vector_get_column_type(vector);
	c.type = duckdb_get_type_id(type);
	c.data = duckdb_vector_get_data(vector);
	c.validity = duckdb_vector_get_validity(vector);
	duckdb_destroy_logical_type(&type);
	return c;
}

bool cells__is_null(const struct cells *c, idx_t row)
{
	return !c->vector || (c->validity && !duckdb_validity_row_is_valid(c->validity, row));
}

static int64_t cells_from_i8(const void *data, idx_t row)
{
	return ((const int8_t *)data)[row];
}

static int64_t cells_from_i16(const void *data, idx_t row)
{
	return ((const int16_t *)data)[row];
}

static int64_t cells_from_i32(const void *data, idx_t row)
{
	return ((const int32_t *)data)[row];
}

static int64_t cells_from_i64(const void *data, idx_t row)
{
	return ((const int64_t *)data)[row];
}

static int64_t cells_from_u8(const void *data, idx_t row)
{
	return ((const uint8_t *)data)[row];
}

static int64_t cells_from_u16(const void *data, idx_t row)
{
	return ((const uint16_t *)data)[row];
}

static int64_t cells_from_u32(const void *data, idx_t row)
{
	return ((const uint32_t *)data)[row];
}

static int64_t cells_from_u64(const void *data, idx_t row)
{
	uint64_t v = ((const uint64_t *)data)[row];

	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t cells_from_i128(const void *data, idx_t row)
{
	duckdb_hugeint v = ((const duckdb_hugeint *)data)[row];

	if (v.upper == 0 && v.lower <= INT64_MAX)
		return (int64_t)v.lower;
	if (v.upper == -1 && v.lower > INT64_MAX)
		return (int64_t)v.lower;
	return v.upper < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t cells_from_u128(const void *data, idx_t row)
{
	duckdb_uhugeint v = ((const duckdb_uhugeint *)data)[row];

	return v.upper || v.lower > INT64_MAX ? INT64_MAX : (int64_t)v.lower;
}

static const struct {
	duckdb_type type;
	int64_t (*read)(const void *data, idx_t row);
} integers[] = {
	{ DUCKDB_TYPE_BIGINT, cells_from_i64 },	  { DUCKDB_TYPE_UBIGINT, cells_from_u64 },
	{ DUCKDB_TYPE_HUGEINT, cells_from_i128 }, { DUCKDB_TYPE_UHUGEINT, cells_from_u128 },
	{ DUCKDB_TYPE_INTEGER, cells_from_i32 },  { DUCKDB_TYPE_UINTEGER, cells_from_u32 },
	{ DUCKDB_TYPE_SMALLINT, cells_from_i16 }, { DUCKDB_TYPE_USMALLINT, cells_from_u16 },
	{ DUCKDB_TYPE_TINYINT, cells_from_i8 },	  { DUCKDB_TYPE_UTINYINT, cells_from_u8 },
};

#define INTEGER_CNT (sizeof(integers) / sizeof(integers[0]))

bool cells__type_is_integer(duckdb_type type)
{
	for (size_t i = 0; i < INTEGER_CNT; i++)
		if (integers[i].type == type)
			return true;
	return false;
}

duckdb_type cells__element_type(duckdb_logical_type list)
{
	duckdb_logical_type element;
	duckdb_type type;

	if (duckdb_get_type_id(list) != DUCKDB_TYPE_LIST)
		return DUCKDB_TYPE_INVALID;
	element = duckdb_list_type_child_type(list);
	type = duckdb_get_type_id(element);
	duckdb_destroy_logical_type(&element);
	return type;
}

int64_t cells__int(const struct cells *c, idx_t row)
{
	if (cells__is_null(c, row))
		return 0;
	for (size_t i = 0; i < INTEGER_CNT; i++)
		if (integers[i].type == c->type)
			return integers[i].read(c->data, row);
	return 0;
}

const char *cells__str(const struct cells *c, idx_t row, size_t *sz)
{
	duckdb_string_t *s;

	*sz = 0;
	if (cells__is_null(c, row) ||
	    (c->type != DUCKDB_TYPE_VARCHAR && c->type != DUCKDB_TYPE_BLOB))
		return NULL;
	s = &((duckdb_string_t *)c->data)[row];
	*sz = duckdb_string_t_length(*s);
	return duckdb_string_t_data(s);
}

duckdb_list_entry cells__list(const struct cells *c, idx_t row)
{
	if (cells__is_null(c, row))
		return (duckdb_list_entry){ 0 };
	return ((const duckdb_list_entry *)c->data)[row];
}
