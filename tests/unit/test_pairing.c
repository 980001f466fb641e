// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows paired with the rows that follow them, compared with a model that searches all rows. */
#include "lib/test.h"

#include <errno.h>
#include <duckdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/pairing.h"

enum { KEY, MOMENT, BEGIN, IS_MARK, IS_END, NUMBER, TEXT, COLUMN_CNT };

static const duckdb_type input_types[COLUMN_CNT] = {
	DUCKDB_TYPE_UBIGINT, DUCKDB_TYPE_BIGINT,  DUCKDB_TYPE_BIGINT,  DUCKDB_TYPE_BOOLEAN,
	DUCKDB_TYPE_BOOLEAN, DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_VARCHAR,
};

static const struct pairing_control control = { KEY, MOMENT, BEGIN, IS_MARK, IS_END };

static const struct pairing_column columns[] = {
	{ NUMBER, 0, PAIRING_ROW, DUCKDB_TYPE_INTEGER },
	{ TEXT, 1, PAIRING_ROW, DUCKDB_TYPE_VARCHAR },
	{ NUMBER, 2, PAIRING_NEXT, DUCKDB_TYPE_INTEGER },
	{ TEXT, 3, PAIRING_MARK, DUCKDB_TYPE_VARCHAR },
};

#define OUTPUT_CNT (sizeof(columns) / sizeof(columns[0]))

/* One row of the stream; its number is its index, null for every seventh; its text is the same. */
struct row {
	uint64_t key;
	int64_t begin;
	bool is_mark, is_end;
};

static duckdb_data_chunk make_chunk(const duckdb_type *types, size_t cnt)
{
	duckdb_logical_type logical[COLUMN_CNT];
	duckdb_data_chunk chunk;

	for (size_t i = 0; i < cnt; i++)
		logical[i] = duckdb_create_logical_type(types[i]);
	chunk = duckdb_create_data_chunk(logical, cnt);
	for (size_t i = 0; i < cnt; i++)
		duckdb_destroy_logical_type(&logical[i]);
	return chunk;
}

static duckdb_data_chunk make_output(void)
{
	duckdb_type types[OUTPUT_CNT];

	for (size_t i = 0; i < OUTPUT_CNT; i++)
		types[i] = columns[i].type;
	return make_chunk(types, OUTPUT_CNT);
}

static void *data_of(duckdb_data_chunk chunk, idx_t column)
{
	return duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column));
}

static bool is_null_number(size_t number)
{
	return number % 7 == 3;
}

/* Short texts are inside the vector, long ones outside. */
static const char *text_of(size_t number)
{
	static char text[64];

	snprintf(text, sizeof(text), number % 2 ? "%zu" : "%zu is the number of this row", number);
	return text;
}

static void put(duckdb_data_chunk chunk, idx_t at, const struct row *r, size_t number)
{
	duckdb_vector numbers = duckdb_data_chunk_get_vector(chunk, NUMBER);

	((uint64_t *)data_of(chunk, KEY))[at] = r->key;
	((int64_t *)data_of(chunk, MOMENT))[at] = (int64_t)number;
	((int64_t *)data_of(chunk, BEGIN))[at] = r->begin;
	((bool *)data_of(chunk, IS_MARK))[at] = r->is_mark;
	((bool *)data_of(chunk, IS_END))[at] = r->is_end;
	((int32_t *)data_of(chunk, NUMBER))[at] = (int32_t)number;
	duckdb_vector_assign_string_element(duckdb_data_chunk_get_vector(chunk, TEXT), at,
					    text_of(number));
	duckdb_vector_ensure_validity_writable(numbers);
	duckdb_validity_set_row_validity(duckdb_vector_get_validity(numbers), at,
					 !is_null_number(number));
}

static bool is_valid(duckdb_data_chunk chunk, idx_t column, idx_t row)
{
	uint64_t *validity =
		duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk, column));

	return !validity || duckdb_validity_row_is_valid(validity, row);
}

static void assert_number(duckdb_data_chunk chunk, idx_t column, idx_t row, size_t number)
{
	assert_int_equal(is_valid(chunk, column, row), !is_null_number(number));
	if (!is_null_number(number))
		assert_int_equal(((int32_t *)data_of(chunk, column))[row], number);
}

static void assert_text(duckdb_data_chunk chunk, idx_t column, idx_t row, size_t number)
{
	duckdb_string_t *s = (duckdb_string_t *)data_of(chunk, column) + row;
	const char *text = text_of(number);

	assert_true(is_valid(chunk, column, row));
	assert_int_equal(duckdb_string_t_length(*s), strlen(text));
	assert_memory_equal(duckdb_string_t_data(s), text, strlen(text));
}

/* Returns the key's previous row that is neither mark nor end, unless an end is between; SIZE_MAX:
 * none. */
static size_t row_before(const struct row *rows, size_t at)
{
	for (size_t i = at; i-- > 0;) {
		if (rows[i].key != rows[at].key || rows[i].is_mark)
			continue;
		return rows[i].is_end ? SIZE_MAX : i;
	}
	return SIZE_MAX;
}

/* Returns the last mark of the key after `from`, before the start of `at`. */
static size_t mark_between(const struct row *rows, size_t from, size_t at)
{
	for (size_t i = at; i-- > from;)
		if (rows[i].is_mark && rows[i].key == rows[at].key && (int64_t)i <= rows[at].begin)
			return i;
	return SIZE_MAX;
}

/* Checks the row that `at` completes, if there is one. */
static idx_t check_pair(const struct row *rows, size_t at, duckdb_data_chunk output, idx_t given)
{
	size_t before = rows[at].is_mark ? SIZE_MAX : row_before(rows, at), mark;

	if (before == SIZE_MAX)
		return given;
	assert_true(given < duckdb_data_chunk_get_size(output));
	assert_number(output, 0, given, before);
	assert_text(output, 1, given, before);
	assert_number(output, 2, given, at);
	mark = mark_between(rows, before, at);
	if (mark == SIZE_MAX)
		assert_false(is_valid(output, 3, given));
	else
		assert_text(output, 3, given, mark);
	return given + 1;
}

static void check_rest(struct pairing *p, const struct row *rows, size_t cnt)
{
	size_t left = 0, given = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t next = i + 1;

		while (next < cnt && (rows[next].key != rows[i].key || rows[next].is_mark))
			next++;
		left += !rows[i].is_mark && !rows[i].is_end && next == cnt;
	}
	for (idx_t sz = 1; sz; given += sz) {
		duckdb_data_chunk output = make_output();

		pairing__finish(p, output);
		sz = duckdb_data_chunk_get_size(output);
		for (idx_t i = 0; i < sz; i++)
			assert_false(is_valid(output, 2, i) || is_valid(output, 3, i));
		duckdb_destroy_data_chunk(&output);
	}
	assert_int_equal(given, left);
}

static void check(const struct row *rows, size_t cnt)
{
	struct pairing *p = pairing__new(&control, columns, OUTPUT_CNT);

	assert_non_null(p);
	for (size_t first = 0; first < cnt; first += duckdb_vector_size()) {
		size_t end =
			first + duckdb_vector_size() < cnt ? first + duckdb_vector_size() : cnt;
		duckdb_data_chunk input = make_chunk(input_types, COLUMN_CNT),
				  output = make_output();
		idx_t given = 0;

		for (size_t i = first; i < end; i++)
			put(input, i - first, &rows[i], i);
		duckdb_data_chunk_set_size(input, end - first);
		assert_int_equal(pairing__take(p, input, output), 0);
		for (size_t i = first; i < end; i++)
			given = check_pair(rows, i, output, given);
		assert_int_equal(duckdb_data_chunk_get_size(output), given);
		duckdb_destroy_data_chunk(&input);
		duckdb_destroy_data_chunk(&output);
	}
	check_rest(p, rows, cnt);
	pairing__free(p);
}

static void test_random(void **state)
{
	static const struct {
		unsigned keys, one_is_end, one_is_mark;
		size_t rows;
	} mixes[] = { { 1, 9, 3, 5000 }, { 50, 20, 2, 20000 }, { 5000, 2, 4, 20000 } };

	(void)state;
	srand(7);
	for (size_t m = 0; m < sizeof(mixes) / sizeof(mixes[0]); m++) {
		struct row *rows = calloc(mixes[m].rows, sizeof(*rows));

		assert_non_null(rows);
		for (size_t i = 0; i < mixes[m].rows; i++) {
			rows[i].key = (uint64_t)rand() % mixes[m].keys * 0x100000001;
			rows[i].is_mark = rand() % mixes[m].one_is_mark == 0;
			rows[i].is_end = !rows[i].is_mark && rand() % mixes[m].one_is_end == 0;
			rows[i].begin = (int64_t)i - rand() % (2 * (int)mixes[m].keys);
		}
		check(rows, mixes[m].rows);
		free(rows);
	}
}

static void test_disorder(void **state)
{
	static const struct row row = { .key = 1 };
	struct pairing *p = pairing__new(&control, columns, OUTPUT_CNT);
	duckdb_data_chunk input = make_chunk(input_types, COLUMN_CNT), output = make_output();

	(void)state;
	assert_non_null(p);
	put(input, 0, &row, 9);
	put(input, 1, &row, 8);
	duckdb_data_chunk_set_size(input, 2);
	assert_int_equal(pairing__take(p, input, output), -EINVAL);
	duckdb_destroy_data_chunk(&input);
	duckdb_destroy_data_chunk(&output);
	pairing__free(p);
}

static void test_types(void **state)
{
	const struct pairing_column list = { NUMBER, 0, PAIRING_ROW, DUCKDB_TYPE_LIST };

	(void)state;
	assert_true(pairing__can(DUCKDB_TYPE_BLOB));
	assert_false(pairing__can(DUCKDB_TYPE_LIST));
	assert_false(pairing__can(DUCKDB_TYPE_INVALID));
	assert_null(pairing__new(&control, &list, 1));
	pairing__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
