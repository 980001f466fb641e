// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

/* Fields of a frame; the first FRAME_NEEDED have to be there. */
enum frame_field {
	FRAME_NAME,
	FRAME_ADDRESS,
	FRAME_OFFSET,
	FRAME_MODULE,
	FRAME_BUILD_ID,
	FRAME_FILE_OFFSET,
	FRAME_FIELD_CNT,
};

#define FRAME_NEEDED FRAME_MODULE

static const struct {
	const char *name;
	bool is_text;
} frame_fields[FRAME_FIELD_CNT] = {
	{ "name", true },   { "address", false }, { "offset", false },
	{ "module", true }, { "build_id", true }, { "file_offset", false },
};

static int wrong(const char *query, const char *what, const char *column)
{
	log__error("%s: %s%s%s; a profile needs three columns: a stack (a list of frames with "
		   "name, address "
		   "and offset, as ustack and kstack are), a count and a value (integers)",
		   query, what, column ? " " : "", column ? column : "");
	return -EINVAL;
}

/* The place of each field in the struct; -1: it has none. False: what is there has the wrong type.
 */
static bool find_fields(duckdb_logical_type frame, int fields[FRAME_FIELD_CNT])
{
	bool good = true;

	for (size_t f = 0; f < FRAME_FIELD_CNT; f++)
		fields[f] = -1;
	for (idx_t i = 0; i < duckdb_struct_type_child_count(frame); i++) {
		char *name = duckdb_struct_type_child_name(frame, i);
		duckdb_logical_type type = duckdb_struct_type_child_type(frame, i);
		duckdb_type id = duckdb_get_type_id(type);

		for (size_t f = 0; f < FRAME_FIELD_CNT; f++) {
			if (strcmp(name, frame_fields[f].name) != 0)
				continue;
			fields[f] = (int)i;
			good &= frame_fields[f].is_text ? id == DUCKDB_TYPE_VARCHAR
							: cells__type_is_integer(id);
		}
		duckdb_destroy_logical_type(&type);
		duckdb_free(name);
	}
	for (size_t f = 0; f < FRAME_NEEDED; f++)
		good &= fields[f] >= 0;
	return good;
}

static bool is_stack(duckdb_logical_type list)
{
	int fields[FRAME_FIELD_CNT];
	duckdb_logical_type frame;
	bool good;

	if (duckdb_get_type_id(list) != DUCKDB_TYPE_LIST)
		return false;
	frame = duckdb_list_type_child_type(list);
	good = duckdb_get_type_id(frame) == DUCKDB_TYPE_STRUCT && find_fields(frame, fields);
	duckdb_destroy_logical_type(&frame);
	return good;
}

/* DuckDB's name of an unnamed count(*) is not what people wrote. */
static char *value_name(const char *name)
{
	return strdup(strcmp(name, "count_star()") == 0 ? "count(*)" : name);
}

int samples__check(const char *query, duckdb_result *result, char *names[BUILDER_VALUE_CNT])
{
	duckdb_logical_type stack;
	bool good;

	if (duckdb_column_count(result) != 1 + BUILDER_VALUE_CNT)
		return wrong(query, "it has another number of columns", NULL);
	stack = duckdb_column_logical_type(result, 0);
	good = is_stack(stack);
	duckdb_destroy_logical_type(&stack);
	if (!good)
		return wrong(query,
			     "this column is no list of frames:", duckdb_column_name(result, 0));
	for (idx_t i = 0; i < BUILDER_VALUE_CNT; i++)
		if (!cells__type_is_integer(duckdb_column_type(result, i + 1)))
			return wrong(query,
				     "this column is no integer (CAST(… AS BIGINT) makes it one):",
				     duckdb_column_name(result, i + 1));
	for (idx_t i = 0; i < BUILDER_VALUE_CNT; i++)
		names[i] = value_name(duckdb_column_name(result, i + 1));
	return 0;
}

/* The vectors of one chunk. */
struct chunk_view {
	struct cells stack, values[BUILDER_VALUE_CNT];
	struct cells frame, fields[FRAME_FIELD_CNT];
};

static void chunk_view__init(struct chunk_view *v, duckdb_data_chunk chunk)
{
	int fields[FRAME_FIELD_CNT];
	duckdb_logical_type type;

	v->stack = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	for (idx_t i = 0; i < BUILDER_VALUE_CNT; i++)
		v->values[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i + 1));
	v->frame = cells__on(duckdb_list_vector_get_child(v->stack.vector));
	type = duckdb_vector_get_column_type(v->frame.vector);
	find_fields(type, fields);
	duckdb_destroy_logical_type(&type);
	for (size_t f = 0; f < FRAME_FIELD_CNT; f++)
		v->fields[f] =
			cells__on(fields[f] < 0 ? NULL
						: duckdb_struct_vector_get_child(v->frame.vector,
										 (idx_t)fields[f]));
}

static struct builder_text text(const struct chunk_view *v, enum frame_field f, idx_t row)
{
	struct builder_text t;

	t.s = cells__str(&v->fields[f], row, &t.sz);
	return t;
}

/* Addresses of the kernel are above INT64_MAX. */
static uint64_t address(const struct chunk_view *v, enum frame_field f, idx_t row)
{
	const struct cells *c = &v->fields[f];

	if (c->type == DUCKDB_TYPE_UBIGINT && !cells__is_null(c, row))
		return ((const uint64_t *)c->data)[row];
	return (uint64_t)cells__int(c, row);
}

static void read_frame(const struct chunk_view *v, idx_t row, struct builder *b)
{
	struct builder_frame frame = {
		.name = text(v, FRAME_NAME, row),
		.module = text(v, FRAME_MODULE, row),
		.build_id = text(v, FRAME_BUILD_ID, row),
		.address = address(v, FRAME_ADDRESS, row),
		.offset = address(v, FRAME_OFFSET, row),
		.file_offset = address(v, FRAME_FILE_OFFSET, row),
		.has_file_offset = !cells__is_null(&v->fields[FRAME_FILE_OFFSET], row),
	};

	if (!cells__is_null(&v->frame, row))
		builder__frame(b, &frame);
}

/* Whether value = count * quantum still holds with this row. */
static void note_quantum(struct samples_stats *stats, const int64_t values[BUILDER_VALUE_CNT])
{
	int64_t expected;

	if (stats->quantum_ns < 0 || values[0] == 0)
		stats->quantum_ns = values[0] == 0 && values[1] == 0 ? stats->quantum_ns : -1;
	else if (stats->quantum_ns == 0)
		stats->quantum_ns =
			values[1] % values[0] == 0 && values[1] > 0 ? values[1] / values[0] : -1;
	else if (__builtin_mul_overflow(values[0], stats->quantum_ns, &expected) ||
		 expected != values[1])
		stats->quantum_ns = -1;
}

static void read_row(const struct chunk_view *v, idx_t row, struct builder *b,
		     struct samples_stats *stats)
{
	int64_t values[BUILDER_VALUE_CNT];

	if (!cells__is_null(&v->stack, row)) {
		duckdb_list_entry list = ((const duckdb_list_entry *)v->stack.data)[row];

		for (uint64_t i = 0; i < list.length; i++)
			read_frame(v, list.offset + i, b);
	}
	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		values[i] = cells__int(&v->values[i], row);
	builder__sample(b, values);
	note_quantum(stats, values);
	stats->rows++;
}

void samples__read(duckdb_result *result, struct builder *b, struct samples_stats *stats)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct chunk_view v;

		chunk_view__init(&v, chunk);
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			read_row(&v, row, b, stats);
		duckdb_destroy_data_chunk(&chunk);
	}
}
