// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/jsonout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "base/jsonbuf.h"

static void jsonout_separate(struct buf *b)
{
	static const char openers[] = { '{', '[', ':' };

	if (b->sz && !memchr(openers, b->data[b->sz - 1], sizeof(openers)))
		buf__u8(b, ',');
}

void json_out__open(struct buf *b, char bracket)
{
	jsonout_separate(b);
	buf__u8(b, (uint8_t)bracket);
}

void json_out__close(struct buf *b, char bracket)
{
	buf__u8(b, (uint8_t)bracket);
}

void json_out__key(struct buf *b, const char *name)
{
	jsonout_separate(b);
	jsonbuf__str(b, name, strlen(name));
	buf__u8(b, ':');
}

/* Prints integers without printf(), which takes ten times as long. Trees have 100,000 numbers. */
void json_out__int(struct buf *b, int64_t n)
{
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char digits[24];
	size_t at = sizeof(digits);

	jsonout_separate(b);
	do
		digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		digits[--at] = '-';
	buf__append(b, digits + at, sizeof(digits) - at);
}

void json_out__double(struct buf *b, double n)
{
	char text[32];

	if (!isfinite(n)) {
		json_out__null(b);
		return;
	}
	jsonout_separate(b);
	snprintf(text, sizeof(text), "%.15g", n);
	buf__str(b, text);
}

void json_out__bool(struct buf *b, bool value)
{
	jsonout_separate(b);
	buf__str(b, value ? "true" : "false");
}

void json_out__null(struct buf *b)
{
	jsonout_separate(b);
	buf__str(b, "null");
}

void json_out__text(struct buf *b, const char *s, size_t sz)
{
	jsonout_separate(b);
	jsonbuf__str(b, s, sz);
}

void json_out__key_int(struct buf *b, const char *name, int64_t value)
{
	json_out__key(b, name);
	json_out__int(b, value);
}

void json_out__key_text(struct buf *b, const char *name, const char *text)
{
	json_out__key(b, name);
	if (text)
		json_out__text(b, text, strlen(text));
	else
		json_out__null(b);
}

/* ---- values of DuckDB ----------------------------------------------------------------------- */

static void json_hex(struct buf *b, uint64_t id)
{
	char text[24];

	json_out__text(b, text, (size_t)snprintf(text, sizeof(text), "%016" PRIx64, id));
}

static void json_list(struct buf *b, duckdb_vector vector, idx_t row)
{
	duckdb_list_entry list = ((duckdb_list_entry *)duckdb_vector_get_data(vector))[row];
	duckdb_vector child = duckdb_list_vector_get_child(vector);

	json_out__open(b, '[');
	for (idx_t i = 0; i < list.length; i++)
		json_out__cell(b, child, list.offset + i);
	json_out__close(b, ']');
}

static void json_struct(struct buf *b, duckdb_vector vector, idx_t row)
{
	duckdb_logical_type type = duckdb_vector_get_column_type(vector);

	json_out__open(b, '{');
	for (idx_t i = 0; i < duckdb_struct_type_child_count(type); i++) {
		char *name = duckdb_struct_type_child_name(type, i);

		json_out__key(b, name);
		json_out__cell(b, duckdb_struct_vector_get_child(vector, i), row);
		duckdb_free(name);
	}
	json_out__close(b, '}');
	duckdb_destroy_logical_type(&type);
}

static void json_blob(struct buf *b, const char *s, size_t sz)
{
	jsonout_separate(b);
	buf__u8(b, '"');
	for (size_t i = 0; i < sz; i++)
		buf__printf(b, "%02x", (unsigned char)s[i]);
	buf__u8(b, '"');
}

static void json_string(struct buf *b, const struct cells *c, idx_t row)
{
	size_t sz;
	const char *s = cells__str(c, row, &sz);

	if (c->type == DUCKDB_TYPE_BLOB)
		json_blob(b, s, sz);
	else if (s)
		json_out__text(b, s, sz);
	else
		json_out__null(b);
}

void json_out__cell(struct buf *b, duckdb_vector vector, idx_t row)
{
	struct cells c = cells__on(vector);

	if (cells__is_null(&c, row))
		json_out__null(b);
	else if (c.type == DUCKDB_TYPE_UBIGINT)
		json_hex(b, ((const uint64_t *)c.data)[row]);
	else if (c.type == DUCKDB_TYPE_BOOLEAN)
		json_out__bool(b, ((const bool *)c.data)[row]);
	else if (c.type == DUCKDB_TYPE_DOUBLE)
		json_out__double(b, ((const double *)c.data)[row]);
	else if (c.type == DUCKDB_TYPE_FLOAT)
		json_out__double(b, ((const float *)c.data)[row]);
	else if (c.type == DUCKDB_TYPE_LIST)
		json_list(b, vector, row);
	else if (c.type == DUCKDB_TYPE_STRUCT)
		json_struct(b, vector, row);
	else if (cells__type_is_integer(c.type))
		json_out__int(b, cells__int(&c, row));
	else
		json_string(b, &c, row);
}

size_t json_out__rows(struct buf *b, duckdb_result *result, bool is_array)
{
	idx_t columns = duckdb_column_count(result);
	duckdb_data_chunk chunk;
	size_t cnt = 0;

	json_out__open(b, '[');
	while ((chunk = duckdb_fetch_chunk(*result))) {
		idx_t rows = duckdb_data_chunk_get_size(chunk);

		for (idx_t row = 0; row < rows; row++) {
			json_out__open(b, is_array ? '[' : '{');
			for (idx_t i = 0; i < columns; i++) {
				if (!is_array)
					json_out__key(b, duckdb_column_name(result, i));
				json_out__cell(b, duckdb_data_chunk_get_vector(chunk, i), row);
			}
			json_out__close(b, is_array ? ']' : '}');
		}
		cnt += rows;
		duckdb_destroy_data_chunk(&chunk);
	}
	json_out__close(b, ']');
	return cnt;
}
