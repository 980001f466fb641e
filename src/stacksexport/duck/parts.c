// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/parts.h"

#include <string.h>

static const struct {
	const char *name;
	duckdb_type type;
} part_fields[PART_FIELD_CNT] = {
	[PART_STACK_ID] = { "stack_id", DUCKDB_TYPE_UBIGINT },
	[PART_LABEL] = { "label", DUCKDB_TYPE_VARCHAR },
	[PART_REVERSED] = { "reversed", DUCKDB_TYPE_BOOLEAN },
};

static bool parts_is_field(duckdb_logical_type part, idx_t field)
{
	char *name = duckdb_struct_type_child_name(part, field);
	duckdb_logical_type type = duckdb_struct_type_child_type(part, field);
	bool good = strcmp(name, part_fields[field].name) == 0 &&
		    duckdb_get_type_id(type) == part_fields[field].type;

	duckdb_destroy_logical_type(&type);
	duckdb_free(name);
	return good;
}

bool parts__is_list(duckdb_logical_type list)
{
	duckdb_logical_type part;
	bool good;

	if (duckdb_get_type_id(list) != DUCKDB_TYPE_LIST)
		return false;
	part = duckdb_list_type_child_type(list);
	good = duckdb_get_type_id(part) == DUCKDB_TYPE_STRUCT &&
	       duckdb_struct_type_child_count(part) == PART_FIELD_CNT;
	for (idx_t i = 0; i < PART_FIELD_CNT && good; i++)
		good = parts_is_field(part, i);
	duckdb_destroy_logical_type(&part);
	return good;
}

struct parts parts__on(duckdb_vector vector)
{
	duckdb_vector part = duckdb_list_vector_get_child(vector);
	struct parts v = { .list = cells__on(vector) };

	for (idx_t i = 0; i < PART_FIELD_CNT; i++)
		v.fields[i] = cells__on(duckdb_struct_vector_get_child(part, i));
	return v;
}

static void parts_add_label(struct builder *b, const char *text, size_t sz)
{
	static const char module[] = "[label]";
	struct named_frame f = { .name = { text, sz }, .module = { module, sizeof(module) - 1 } };

	builder__frame(b, &f);
}

static void parts_add(const struct parts *v, idx_t at, struct builder *b)
{
	const struct cells *reversed = &v->fields[PART_REVERSED];
	size_t sz;
	const char *label = cells__str(&v->fields[PART_LABEL], at, &sz);

	if (label)
		parts_add_label(b, label, sz);
	if (!cells__is_null(&v->fields[PART_STACK_ID], at))
		builder__kept(b, ((const uint64_t *)v->fields[PART_STACK_ID].data)[at],
			      !cells__is_null(reversed, at) && ((const bool *)reversed->data)[at]);
}

void parts__add(const struct parts *v, idx_t row, struct builder *b)
{
	duckdb_list_entry list = cells__list(&v->list, row);

	for (idx_t at = list.offset; at < list.offset + list.length; at++)
		parts_add(v, at, b);
}
