// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/functionat.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"

struct function_places {
	pthread_mutex_t lock; /* DuckDB has several threads, but a file is used by one at a time */
	struct binaries *binaries;
};

static void function_places__free(void *arg)
{
	struct function_places *l = arg;

	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct frame_text functionat_text_of(const struct cells *c, idx_t row)
{
	struct frame_text text = { 0 };

	text.s = cells__str(c, row, &text.sz);
	return text;
}

/* Must hold the lock. */
static bool functionat_places_find(struct function_places *l, struct named_frame *frame,
				   char text[FUNCTION_PLACE_SZ])
{
	frame->offset += frame->address;
	frame->address = 0;
	binaries__locate(l->binaries, frame);
	snprintf(text, FUNCTION_PLACE_SZ, "+0x%" PRIx64, frame->address);
	return frame->has_start;
}

bool function_places__find(struct function_places *l, struct named_frame *frame,
			   char text[FUNCTION_PLACE_SZ])
{
	bool found;

	pthread_mutex_lock(&l->lock);
	found = functionat_places_find(l, frame, text);
	pthread_mutex_unlock(&l->lock);
	return found;
}

static void functionat_answer(duckdb_function_info info, duckdb_data_chunk input,
			      duckdb_vector output)
{
	struct cells module = cells__on(duckdb_data_chunk_get_vector(input, 0));
	struct cells build_id = cells__on(duckdb_data_chunk_get_vector(input, 1));
	const uint64_t *places = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2));
	struct function_places *l = duckdb_scalar_function_get_extra_info(info);
	char text[FUNCTION_PLACE_SZ];
	uint64_t *valid;

	duckdb_vector_ensure_validity_writable(output);
	valid = duckdb_vector_get_validity(output);
	pthread_mutex_lock(&l->lock);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct named_frame f = { .module = functionat_text_of(&module, row),
					 .build_id = functionat_text_of(&build_id, row),
					 .offset = places[row] };

		if (functionat_places_find(l, &f, text))
			duckdb_vector_assign_string_element(output, row, text);
		else
			duckdb_validity_set_row_invalid(valid, row);
	}
	pthread_mutex_unlock(&l->lock);
}

static duckdb_scalar_function functionat_make(struct function_places *l)
{
	static const duckdb_type parameters[] = { DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR,
						  DUCKDB_TYPE_UBIGINT };
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_scalar_function f = duckdb_create_scalar_function();

	duckdb_scalar_function_set_name(f, "function_in_file");
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++) {
		duckdb_logical_type type = duckdb_create_logical_type(parameters[i]);

		duckdb_scalar_function_add_parameter(f, type);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_scalar_function_set_return_type(f, text);
	duckdb_scalar_function_set_extra_info(f, l, function_places__free);
	duckdb_scalar_function_set_function(f, functionat_answer);
	duckdb_destroy_logical_type(&text);
	return f;
}

int function_at__register(struct db *db, struct binaries *binaries, struct function_places **places)
{
	struct function_places *l = calloc(1, sizeof(*l));
	duckdb_scalar_function f;
	duckdb_state state;

	if (!l) {
		log__error("out of memory");
		return -ENOMEM;
	}
	pthread_mutex_init(&l->lock, NULL);
	l->binaries = binaries;
	*places = l;
	f = functionat_make(l);
	state = duckdb_register_scalar_function(db->connection, f);
	duckdb_destroy_scalar_function(&f);
	if (state == DuckDBSuccess)
		return db__script(db, "sql/function_at.sql");
	log__error("cannot register function_in_file() with DuckDB");
	return -EINVAL;
}
