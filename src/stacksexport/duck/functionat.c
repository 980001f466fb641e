// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/functionat.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"

struct lookup {
	pthread_mutex_t lock; /* DuckDB has several threads, files are for one at a time */
	struct binaries *binaries;
};

static void lookup__free(void *arg)
{
	struct lookup *l = arg;

	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct frame_text text_of(const struct cells *c, idx_t row)
{
	struct frame_text text = { 0 };

	text.s = cells__str(c, row, &text.sz);
	return text;
}

static void answer(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct cells module = cells__on(duckdb_data_chunk_get_vector(input, 0));
	struct cells build_id = cells__on(duckdb_data_chunk_get_vector(input, 1));
	const uint64_t *places = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 2));
	struct lookup *l = duckdb_scalar_function_get_extra_info(info);
	char text[32];
	uint64_t *valid;

	duckdb_vector_ensure_validity_writable(output);
	valid = duckdb_vector_get_validity(output);
	pthread_mutex_lock(&l->lock);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(input); row++) {
		struct named_frame f = { .module = text_of(&module, row),
					 .build_id = text_of(&build_id, row),
					 .offset = places[row] };

		binaries__locate(l->binaries, &f);
		snprintf(text, sizeof(text), "+0x%" PRIx64, f.address);
		if (f.has_start)
			duckdb_vector_assign_string_element(output, row, text);
		else
			duckdb_validity_set_row_invalid(valid, row);
	}
	pthread_mutex_unlock(&l->lock);
}

static duckdb_scalar_function make(struct lookup *l)
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
	duckdb_scalar_function_set_extra_info(f, l, lookup__free);
	duckdb_scalar_function_set_function(f, answer);
	duckdb_destroy_logical_type(&text);
	return f;
}

int function_at__register(struct db *db, struct binaries *binaries)
{
	struct lookup *l = calloc(1, sizeof(*l));
	duckdb_scalar_function f;
	duckdb_state state;

	if (!l) {
		log__error("out of memory");
		return -ENOMEM;
	}
	pthread_mutex_init(&l->lock, NULL);
	l->binaries = binaries;
	f = make(l);
	state = duckdb_register_scalar_function(db->connection, f);
	duckdb_destroy_scalar_function(&f);
	if (state == DuckDBSuccess)
		return db__script(db, "sql/function_at.sql");
	log__error("cannot register the function that finds the start of functions with DuckDB");
	return -EINVAL;
}
