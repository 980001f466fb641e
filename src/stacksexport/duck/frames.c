// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/frames.h"

#include <string.h>

static const struct {
	const char *name;
	bool is_text;
} frame_fields[FRAME_FIELD_CNT] = {
	{ "name", true },     { "address", false },	{ "offset", false }, { "module", true },
	{ "build_id", true }, { "file_offset", false }, { "line", false },   { "file", true },
};

/* Finds the place of each field in the struct; -1: absent. Returns false if a field has the wrong
 * type. */
static bool frames_find_fields(duckdb_logical_type frame, int fields[FRAME_FIELD_CNT])
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

bool frames__is_stack(duckdb_logical_type list)
{
	int fields[FRAME_FIELD_CNT];
	duckdb_logical_type frame;
	bool good;

	if (duckdb_get_type_id(list) != DUCKDB_TYPE_LIST)
		return false;
	frame = duckdb_list_type_child_type(list);
	good = duckdb_get_type_id(frame) == DUCKDB_TYPE_STRUCT && frames_find_fields(frame, fields);
	duckdb_destroy_logical_type(&frame);
	return good;
}

struct frames frames__on(duckdb_vector vector)
{
	struct frames v = { .list = cells__on(vector) };
	int fields[FRAME_FIELD_CNT];
	duckdb_logical_type type;

	v.frame = cells__on(duckdb_list_vector_get_child(vector));
	type = duckdb_vector_get_column_type(v.frame.vector);
	frames_find_fields(type, fields);
	duckdb_destroy_logical_type(&type);
	for (size_t f = 0; f < FRAME_FIELD_CNT; f++)
		v.fields[f] = cells__on(fields[f] < 0 ? NULL
						      : duckdb_struct_vector_get_child(
								v.frame.vector, (idx_t)fields[f]));
	return v;
}

struct frame_text frames__text(const struct frames *v, enum frame_field f, idx_t at)
{
	struct frame_text t;

	t.s = cells__str(&v->fields[f], at, &t.sz);
	return t;
}

/* Reads an address as unsigned: those of the kernel are above INT64_MAX. */
static uint64_t frames_address(const struct frames *v, enum frame_field f, idx_t at)
{
	const struct cells *c = &v->fields[f];

	if (c->type == DUCKDB_TYPE_UBIGINT && !cells__is_null(c, at))
		return ((const uint64_t *)c->data)[at];
	return (uint64_t)cells__int(c, at);
}

void frames__get(const struct frames *v, idx_t at, struct named_frame *out)
{
	*out = (struct named_frame){
		.name = frames__text(v, FRAME_NAME, at),
		.module = frames__text(v, FRAME_MODULE, at),
		.build_id = frames__text(v, FRAME_BUILD_ID, at),
		.file = frames__text(v, FRAME_FILE, at),
		.address = frames_address(v, FRAME_ADDRESS, at),
		.offset = frames_address(v, FRAME_OFFSET, at),
		.file_offset = frames_address(v, FRAME_FILE_OFFSET, at),
		.line = (int32_t)frames_address(v, FRAME_LINE, at),
		.has_file_offset = !cells__is_null(&v->fields[FRAME_FILE_OFFSET], at),
	};
}

void frames__each(const struct frames *v, idx_t row,
		  void (*take)(const struct named_frame *, void *arg), void *arg)
{
	duckdb_list_entry list = cells__list(&v->list, row);

	for (idx_t at = list.offset; at < list.offset + list.length; at++) {
		struct named_frame frame;

		if (cells__is_null(&v->frame, at))
			continue;
		frames__get(v, at, &frame);
		take(&frame, arg);
	}
}
