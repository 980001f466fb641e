// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows into columns: defaults, back-fill, nulls, lists, the order of time. */
#include "lib/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "store/batch.h"
#include "store/leaf.h"
#include "store/order.h"
#include "store/row.h"

static size_t column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->column_cnt; i++)
		if (strcmp(t->columns[i].name, name) == 0)
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static const struct vector *vector(const struct batch *b, const char *name)
{
	return &b->vectors[column(b->table, name)];
}

static void defaults_cost_nothing(void **state)
{
	struct batch *b = batch__new(&events_table, 1000, 0);
	struct row row = { .gaps = 7, .timestamp = 1 }; /* gaps is not present: null */

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(batch__append(b, &row, 1), 0);
	for (size_t i = 1; i < events_table.column_cnt; i++)
		assert_null(b->vectors[i].data);
	assert_non_null(vector(b, "timestamp")->data);
	assert_int_equal(batch__room(b), 0);
	batch__free(b);
}

static void first_value_fills_back(void **state)
{
	struct batch *b = batch__new(&events_table, 8, 0);
	struct row rows[3] = { { .cpu = 0 },
			       { .cpu = 0 },
			       { .cpu = -3, .reason = 5, .runnable = 0, .present = ROW_RUNNABLE } };
	struct leaf leaf = { 0 };

	(void)state;
	assert_int_equal(batch__append(b, rows, 3), 0);
	assert_int_equal(batch__append(b, rows, 1), 0);
	assert_int_equal(leaf__from_rows(&leaf, b, column(b->table, "cpu"), NULL), 0);
	assert_int_equal(leaf.value_cnt, 4);
	assert_int_equal(leaf.values[1], 0);
	assert_int_equal((int64_t)leaf.values[2], -3);
	assert_int_equal(leaf.values[3], 0);

	assert_int_equal(leaf__from_rows(&leaf, b, column(b->table, "reason"), NULL), 0);
	assert_int_equal(leaf.value_cnt, 1);
	assert_int_equal(leaf.values[0], 5);
	assert_memory_equal(leaf.defs, ((uint32_t[]){ 0, 0, 1, 0 }), 16);

	/* a present zero is not null */
	assert_int_equal(leaf__from_rows(&leaf, b, column(b->table, "runnable"), NULL), 0);
	assert_int_equal(leaf.value_cnt, 1);
	assert_int_equal(leaf.values[0], 0);
	assert_memory_equal(leaf.defs, ((uint32_t[]){ 0, 0, 1, 0 }), 16);

	assert_int_equal(leaf__from_rows(&leaf, b, column(b->table, "address"), NULL), 0);
	assert_int_equal(leaf.value_cnt, 0);
	assert_int_equal(leaf.level_cnt, 4);
	leaf__free(&leaf);
	batch__free(b);
}

/* In reused memory only the room of rows is written. */
static void room_is_not_cleared(void **state)
{
	struct row rows[2] = { { .cpu = 0 }, { .cpu = -3 } };
	struct batch *b;
	const int32_t *cpus;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its allocator gives cleared memory */
#endif
	mallopt(M_PERTURB, 0x55);
	b = batch__new(&events_table, 1000, 0);
	assert_int_equal(batch__append(b, &rows[0], 1), 0);
	assert_int_equal(batch__append(b, &rows[1], 1), 0);
	mallopt(M_PERTURB, 0);
	cpus = vector(b, "cpu")->data;
	assert_int_equal(cpus[0], 0);
	assert_int_equal(cpus[1], -3);
	assert_int_not_equal(cpus[2], 0);
	batch__free(b);
}

static void lists_are_appended(void **state)
{
	struct batch *b = batch__new(&stacktraces_table, 4, 8);
	struct row_frame frames[2] = { { .name = 3, .address = 16 },
				       { .has_file_offset = 1, .file_offset = 0, .address = 32 } };
	struct stack_row row = { 1, 0 };
	struct leaf leaf = { 0 };

	(void)state;
	assert_int_equal(batch__append_list(b, &row, frames, 2), 0);
	assert_int_equal(batch__append_list(b, &row, NULL, 0), 0);
	assert_int_equal(batch__append_list(b, &row, frames + 1, 1), 0);

	assert_int_equal(leaf__from_list(&leaf, b, column(b->table->list, "address")), 0);
	assert_int_equal(leaf.level_cnt, 4);
	assert_int_equal(leaf.max_def, 1);
	assert_memory_equal(leaf.reps, ((uint32_t[]){ 0, 1, 0, 0 }), 16);
	assert_memory_equal(leaf.defs, ((uint32_t[]){ 1, 1, 0, 1 }), 16);
	assert_memory_equal(leaf.values, ((uint64_t[]){ 16, 32, 32 }), 24);

	assert_int_equal(leaf__from_list(&leaf, b, column(b->table->list, "name")), 0);
	assert_int_equal(leaf.value_cnt, 1);
	assert_memory_equal(leaf.defs, ((uint32_t[]){ 2, 1, 0, 1 }), 16);

	assert_int_equal(leaf__from_list(&leaf, b, column(b->table->list, "file_offset")), 0);
	assert_int_equal(leaf.value_cnt, 2);
	assert_memory_equal(leaf.defs, ((uint32_t[]){ 1, 2, 0, 2 }), 16);
	leaf__free(&leaf);
	batch__free(b);
}

static void rows_are_ordered_by_time(void **state)
{
	static const int64_t times[] = { 5, -7, INT64_MAX, 5, INT64_MIN, 0, -7 };
	struct batch *b = batch__new(&events_table, 16, 0);
	struct leaf leaf = { 0 };
	uint32_t *by_time;
	int err;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		struct row row = { .timestamp = times[i], .cpu = (int32_t)i };

		assert_int_equal(batch__append(b, &row, 1), 0);
		if (i == 0)
			assert_null(batch__order(b, &err));
	}
	by_time = batch__order(b, &err);
	assert_non_null(by_time);
	assert_memory_equal(by_time, ((uint32_t[]){ 4, 1, 6, 5, 0, 3, 2 }), 28);
	assert_int_equal(leaf__from_rows(&leaf, b, column(b->table, "cpu"), by_time), 0);
	assert_memory_equal(leaf.values, ((uint64_t[]){ 4, 1, 6, 5, 0, 3, 2 }), 56);
	free(by_time);
	leaf__free(&leaf);
	batch__free(b);
}

RUN_TESTS(cmocka_unit_test(defaults_cost_nothing), cmocka_unit_test(first_value_fills_back),
	  cmocka_unit_test(room_is_not_cleared), cmocka_unit_test(lists_are_appended),
	  cmocka_unit_test(rows_are_ordered_by_time))
