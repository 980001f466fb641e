// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "stacksexport/frames.h"

static int wrong(const char *query, const char *what, const char *column)
{
	log__error("%s: %s%s%s; a profile needs three columns: a stack (a list of frames with "
		   "name, address "
		   "and offset, as ustack and kstack are), a count and a value (integers)",
		   query, what, column ? " " : "", column ? column : "");
	return -EINVAL;
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
	good = frames__is_stack(stack);
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
	struct frames stacks;
	struct cells values[BUILDER_VALUE_CNT];
};

static struct chunk_view chunk_view__on(duckdb_data_chunk chunk)
{
	struct chunk_view v = { .stacks = frames__on(duckdb_data_chunk_get_vector(chunk, 0)) };

	for (idx_t i = 0; i < BUILDER_VALUE_CNT; i++)
		v.values[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i + 1));
	return v;
}

static void take_frame(const struct frame *frame, void *builder)
{
	builder__frame(builder, frame);
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

	frames__each(&v->stacks, row, take_frame, b);
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
		struct chunk_view v = chunk_view__on(chunk);

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			read_row(&v, row, b, stats);
		duckdb_destroy_data_chunk(&chunk);
	}
}
