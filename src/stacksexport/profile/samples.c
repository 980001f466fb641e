// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/profile/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/frames.h"
#include "stacksexport/duck/parts.h"

static int samples_wrong(const char *query, const char *what, const char *column)
{
	log__error("%s: %s%s%s; a profile needs three columns: a stack (a list of frames with "
		   "name, address and offset, such as ustack and kstack, or a list of stack ids), "
		   "a count and a value (integers)",
		   query, what, column ? " " : "", column ? column : "");
	return -EINVAL;
}

/* Replaces the name that DuckDB gives an unnamed count(*). */
static char *samples_value_name(const char *name)
{
	return strdup(strcmp(name, "count_star()") == 0 ? "count(*)" : name);
}

/* Returns true if the column is a stack in one of the forms. */
static bool samples_find_form(struct samples *s, duckdb_prepared_statement prepared)
{
	duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(prepared, 0);
	bool good = frames__is_stack(type) || parts__is_list(type) ||
		    cells__element_type(type) == DUCKDB_TYPE_UBIGINT;

	s->form = frames__is_stack(type) ? SAMPLES_OF_FRAMES
		  : parts__is_list(type) ? SAMPLES_OF_PARTS
					 : SAMPLES_OF_IDS;
	duckdb_destroy_logical_type(&type);
	return good;
}

static int samples_check(struct samples *s, duckdb_prepared_statement prepared)
{
	const char *names[1 + BUILDER_VALUE_CNT] = { 0 };
	int err = 0;

	if (duckdb_prepared_statement_column_count(prepared) != 1 + BUILDER_VALUE_CNT)
		return samples_wrong(s->query, "it has another number of columns", NULL);
	for (idx_t i = 0; i < 1 + BUILDER_VALUE_CNT; i++)
		names[i] = duckdb_prepared_statement_column_name(prepared, i);
	if (!samples_find_form(s, prepared))
		err = samples_wrong(s->query, "this column is not a list of frames:", names[0]);
	for (idx_t i = 0; i < BUILDER_VALUE_CNT && !err; i++) {
		s->names[i] = samples_value_name(names[i + 1]);
		if (!cells__type_is_integer(duckdb_prepared_statement_column_type(prepared, i + 1)))
			err = samples_wrong(
				s->query,
				"this column is not an integer (CAST(… AS BIGINT) makes it one):",
				names[i + 1]);
	}
	for (idx_t i = 0; i < 1 + BUILDER_VALUE_CNT; i++)
		duckdb_free((void *)names[i]);
	return err;
}

int samples__init(struct samples *s, struct db *db, const char *query, const char *sql)
{
	duckdb_prepared_statement prepared = NULL;
	int err;

	*s = (struct samples){ .query = query, .sql = sql };
	err = db__prepare(db, sql, &prepared);
	if (!err)
		err = samples_check(s, prepared);
	duckdb_destroy_prepare(&prepared);
	return err;
}

void samples__free(struct samples *s)
{
	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		free(s->names[i]);
}

/* The vectors of one chunk; of the stacks only those of their form are set. */
struct chunk_view {
	struct frames frames;
	struct parts parts;
	struct cells values[BUILDER_VALUE_CNT];
};

static struct chunk_view chunk_view__on(duckdb_data_chunk chunk, enum samples_form form)
{
	duckdb_vector stacks = duckdb_data_chunk_get_vector(chunk, 0);
	struct chunk_view v = { 0 };

	if (form == SAMPLES_OF_FRAMES)
		v.frames = frames__on(stacks);
	else
		v.parts = parts__on(stacks);
	for (idx_t i = 0; i < BUILDER_VALUE_CNT; i++)
		v.values[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i + 1));
	return v;
}

static void samples_take_frame(const struct named_frame *frame, void *builder)
{
	builder__frame(builder, frame);
}

/* Clears the quantum if value = count * quantum does not hold for this row. */
static void samples_note_quantum(struct samples_stats *stats,
				 const int64_t values[BUILDER_VALUE_CNT])
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

static void samples_read_values(const struct chunk_view *v, idx_t row, struct builder *b,
				struct samples_stats *stats)
{
	int64_t values[BUILDER_VALUE_CNT];

	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		values[i] = cells__int(&v->values[i], row);
	builder__sample(b, values);
	samples_note_quantum(stats, values);
	stats->rows++;
}

static void samples_read_rows(duckdb_result *result, enum samples_form form, struct builder *b,
			      struct samples_stats *stats)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct chunk_view v = chunk_view__on(chunk, form);

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
			if (form == SAMPLES_OF_FRAMES)
				frames__each(&v.frames, row, samples_take_frame, b);
			else
				parts__add(&v.parts, row, b);
			samples_read_values(&v, row, b, stats);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
}

/* Runs the query into the temporary table, with a part for each stack. `begin` makes the table or
 * inserts. `grouped`: the name of the selected group is at the root of the stacks. */
static int samples_fill_table(const struct samples *s, struct db *db, const char *begin,
			      bool grouped)
{
	const char *stack =
		s->form == SAMPLES_OF_IDS ? "list_transform(c0, lambda id: stack_part(id))" : "c0";
	struct buf sql = { 0 };
	duckdb_result result = { 0 };
	int err;

	buf__printf(&sql, "%s SELECT %s%s%s AS stack, c1, c2 FROM (%s\n) t(c0, c1, c2)", begin,
		    grouped ? "list_append(" : "", stack,
		    grouped ? ", label_part(getvariable('group_label')))" : "", s->sql);
	buf__u8(&sql, 0);
	err = buf__err(&sql);
	if (err)
		log__error("out of memory");
	else
		err = db__run(db, (const char *)sql.data, &result);
	duckdb_destroy_result(&result);
	buf__free(&sql);
	return err;
}

/* Runs the query for each group, before the frames of the stacks are read. */
static int samples_make_table(const struct samples *s, struct db *db)
{
	static const char create[] = "CREATE OR REPLACE TEMP TABLE profile_samples AS";
	size_t cnt = s->groups ? grouping__cnt(s->groups) : 0;
	int err = cnt ? 0 : samples_fill_table(s, db, create, false);

	for (size_t i = 0; i < cnt && !err; i++) {
		err = grouping__select(s->groups, db, i);
		if (!err)
			err = samples_fill_table(s, db, i ? "INSERT INTO profile_samples" : create,
						 true);
	}
	return err || !cnt ? err : grouping__select(s->groups, db, cnt + 1);
}

static int samples_keep_stacks(struct db *db, struct builder *b)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = db__run_file(db, "sql/profile/stacks.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		const uint64_t *ids =
			duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
		struct frames frames = frames__on(duckdb_data_chunk_get_vector(chunk, 1));

		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
			frames__each(&frames, row, samples_take_frame, b);
			builder__keep(b, ids[row]);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

int samples__read(const struct samples *s, struct db *db, struct builder *b,
		  struct samples_stats *stats)
{
	bool of_frames = s->form == SAMPLES_OF_FRAMES;
	duckdb_result result = { 0 };
	int err = of_frames ? 0 : samples_make_table(s, db);

	if (!err && !of_frames)
		err = samples_keep_stacks(db, b);
	if (!err)
		err = db__run(db, of_frames ? s->sql : "FROM profile_samples", &result);
	if (!err)
		samples_read_rows(&result, s->form, b, stats);
	duckdb_destroy_result(&result);
	return err;
}
