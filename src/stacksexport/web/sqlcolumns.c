// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/sqlcolumns.h"

#include <stdio.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/frames.h"
#include "stacksexport/duck/parts.h"
#include "stacksexport/web/jsonout.h"

#define FRAMES_MAX 10000 /* of one row */

/* The types that JSON can show directly. */
static const struct {
	duckdb_type type;
	const char *name;
} plain[] = {
	{ DUCKDB_TYPE_BOOLEAN, "BOOLEAN" },	{ DUCKDB_TYPE_TINYINT, "TINYINT" },
	{ DUCKDB_TYPE_SMALLINT, "SMALLINT" },	{ DUCKDB_TYPE_INTEGER, "INTEGER" },
	{ DUCKDB_TYPE_BIGINT, "BIGINT" },	{ DUCKDB_TYPE_UTINYINT, "UTINYINT" },
	{ DUCKDB_TYPE_USMALLINT, "USMALLINT" }, { DUCKDB_TYPE_UINTEGER, "UINTEGER" },
	{ DUCKDB_TYPE_UBIGINT, "UBIGINT" },	{ DUCKDB_TYPE_HUGEINT, "HUGEINT" },
	{ DUCKDB_TYPE_UHUGEINT, "UHUGEINT" },	{ DUCKDB_TYPE_FLOAT, "FLOAT" },
	{ DUCKDB_TYPE_DOUBLE, "DOUBLE" },	{ DUCKDB_TYPE_VARCHAR, "VARCHAR" },
	{ DUCKDB_TYPE_BLOB, "BLOB" },
};

static const char *sqlcolumns_plain_name(duckdb_type type)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (plain[i].type == type)
			return plain[i].name;
	return NULL;
}

/* Returns true for [kstack_id, ustack_id]: only IDs have this type. */
static bool sqlcolumns_is_id_list(duckdb_logical_type type)
{
	return cells__element_type(type) == DUCKDB_TYPE_UBIGINT;
}

static bool sqlcolumns_is_stack(duckdb_logical_type type)
{
	return frames__is_stack(type) || parts__is_list(type) || sqlcolumns_is_id_list(type);
}

static const char *column_cast(duckdb_logical_type type)
{
	duckdb_type id = duckdb_get_type_id(type);

	if (sqlcolumns_plain_name(id) || sqlcolumns_is_stack(type))
		return NULL;
	return id == DUCKDB_TYPE_DECIMAL ? "DOUBLE" : "VARCHAR";
}

/* Appends SELECT c0, CAST(c1 AS VARCHAR) FROM (query) t(c0, c1). Columns go by position, because
 * names may repeat. */
int sql_columns__wrap(duckdb_prepared_statement query, const char *sql, struct buf *out)
{
	idx_t cnt = duckdb_prepared_statement_column_count(query);

	buf__str(out, "SELECT ");
	for (idx_t i = 0; i < cnt; i++) {
		duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(query, i);
		const char *cast = column_cast(type);

		buf__printf(out, cast ? "%sCAST(c%d AS %s)" : "%sc%d", i ? ", " : "", (int)i, cast);
		duckdb_destroy_logical_type(&type);
	}
	buf__str(out, " FROM (");
	buf__str(out, sql);
	buf__str(out, "\n) t(");
	for (idx_t i = 0; i < cnt; i++)
		buf__printf(out, "%sc%d", i ? ", " : "", (int)i);
	buf__str(out, ")");
	buf__u8(out, 0);
	return buf__err(out);
}

static const char *sqlcolumns_type_name(duckdb_logical_type type)
{
	duckdb_type id = duckdb_get_type_id(type);

	if (sqlcolumns_is_stack(type))
		return "STACK";
	if (id == DUCKDB_TYPE_DECIMAL)
		return "DECIMAL";
	if (id == DUCKDB_TYPE_TIMESTAMP || id == DUCKDB_TYPE_TIMESTAMP_TZ)
		return "TIMESTAMP";
	return sqlcolumns_plain_name(id) ? sqlcolumns_plain_name(id) : "VARCHAR";
}

void sql_columns__show(duckdb_prepared_statement query, struct buf *out)
{
	json_out__key(out, "columns");
	json_out__open(out, '[');
	for (idx_t i = 0; i < duckdb_prepared_statement_column_count(query); i++) {
		const char *name = duckdb_prepared_statement_column_name(query, i);
		duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(query, i);

		json_out__open(out, '{');
		json_out__key_text(out, "name", name);
		json_out__key_text(out, "type", sqlcolumns_type_name(type));
		json_out__close(out, '}');
		duckdb_destroy_logical_type(&type);
		duckdb_free((void *)name);
	}
	json_out__close(out, ']');
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The frames of a row that is being appended. */
struct stack_names {
	struct model *model;
	struct buf *out;
	size_t cnt;
};

static void sqlcolumns_names_add(struct stack_names *n, const char *s, size_t sz)
{
	if (n->cnt++ < FRAMES_MAX)
		json_out__text(n->out, s ? s : "", sz);
}

static void sqlcolumns_take_frame(const struct named_frame *f, void *arg)
{
	struct stack_names *n = arg;
	struct buf name = { 0 };

	named_frame__append(&name, f);
	sqlcolumns_names_add(n, (const char *)name.data, name.sz);
	buf__free(&name);
}

static void sqlcolumns_add_stack(struct stack_names *n, uint64_t id, bool reversed)
{
	const struct stackset *s = n->model->stacks;
	const uint32_t *frames;
	size_t cnt;

	pthread_mutex_lock(&n->model->lock);
	frames = stackset__find(s, id, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct model_frame *frame =
			stackset__frame_at(s, frames[reversed ? cnt - 1 - i : i]);
		struct frame_text name =
			stackset__text(s, stackset__function(s, frame->function)->name);

		sqlcolumns_names_add(n, name.s, name.sz);
	}
	pthread_mutex_unlock(&n->model->lock);
}

static void sqlcolumns_add_frames(struct stack_names *n, duckdb_vector vector, idx_t row)
{
	struct frames frames = frames__on(vector);

	frames__each(&frames, row, sqlcolumns_take_frame, n);
}

static void sqlcolumns_add_ids(struct stack_names *n, duckdb_vector vector, idx_t row)
{
	duckdb_list_entry list = ((duckdb_list_entry *)duckdb_vector_get_data(vector))[row];
	struct cells ids = cells__on(duckdb_list_vector_get_child(vector));

	for (idx_t i = list.offset; i < list.offset + list.length; i++)
		if (!cells__is_null(&ids, i))
			sqlcolumns_add_stack(n, ((const uint64_t *)ids.data)[i], false);
}

static void sqlcolumns_add_parts(struct stack_names *n, duckdb_vector vector, idx_t row)
{
	duckdb_list_entry list = ((duckdb_list_entry *)duckdb_vector_get_data(vector))[row];
	struct parts parts = parts__on(vector);

	for (idx_t i = list.offset; i < list.offset + list.length; i++) {
		const struct cells *f = parts.fields;
		size_t sz;
		const char *label = cells__str(&f[PART_LABEL], i, &sz);

		if (label)
			sqlcolumns_names_add(n, label, sz);
		else if (!cells__is_null(&f[PART_STACK_ID], i))
			sqlcolumns_add_stack(n, ((const uint64_t *)f[PART_STACK_ID].data)[i],
					     !cells__is_null(&f[PART_REVERSED], i) &&
						     ((const bool *)f[PART_REVERSED].data)[i]);
	}
}

static const struct {
	bool (*is)(duckdb_logical_type);
	void (*add)(struct stack_names *, duckdb_vector, idx_t row);
} stack_forms[] = {
	{ frames__is_stack, sqlcolumns_add_frames },
	{ parts__is_list, sqlcolumns_add_parts },
	{ sqlcolumns_is_id_list, sqlcolumns_add_ids },
};

/* Returns false if the value is not a stack. */
static bool sqlcolumns_show_stack(struct stack_names *n, duckdb_vector vector, idx_t row)
{
	duckdb_logical_type type = duckdb_vector_get_column_type(vector);
	struct cells c = cells__on(vector);
	size_t i = 0, cnt = sizeof(stack_forms) / sizeof(*stack_forms);

	while (i < cnt && !stack_forms[i].is(type))
		i++;
	duckdb_destroy_logical_type(&type);
	if (i == cnt || cells__is_null(&c, row))
		return false;
	json_out__open(n->out, '[');
	stack_forms[i].add(n, vector, row);
	json_out__close(n->out, ']');
	return true;
}

void sql_columns__row(struct model *m, duckdb_data_chunk chunk, idx_t row, struct buf *out)
{
	json_out__open(out, '[');
	for (idx_t i = 0; i < duckdb_data_chunk_get_column_count(chunk); i++) {
		duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, i);
		struct stack_names names = { m, out, 0 };

		if (!sqlcolumns_show_stack(&names, vector, row))
			json_out__cell(out, vector, row);
	}
	json_out__close(out, ']');
}
