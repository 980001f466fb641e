// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/idlists.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stacksexport/duck/functionids.h"
#include "stacksexport/model/waiting.h"
#include "stacksexport/model/waittraits.h"

/* ---- first_of_each() ------------------------------------------------------------------------- */

/* The list in which a number occurred last. */
struct met {
	uint32_t *list; /* [number] */
	size_t cnt;
};

static bool id_list_keep_first(struct met *met, int32_t id, uint32_t list)
{
	if (id <= 0 || (size_t)id >= met->cnt || met->list[id] == list)
		return false;
	met->list[id] = list;
	return true;
}

static bool idlists_first_of_chunk(struct met *met, duckdb_data_chunk input, duckdb_vector output)
{
	struct cells in = cells__on(duckdb_data_chunk_get_vector(input, 0));
	const int32_t *from = duckdb_vector_get_data(duckdb_list_vector_get_child(in.vector));
	idx_t cnt = 0, rows = duckdb_data_chunk_get_size(input);
	duckdb_list_entry *lists = duckdb_vector_get_data(output);
	int32_t *ids = function_ids__reserve(&in, rows, 0, output);

	for (idx_t row = 0; row < rows && ids; row++) {
		duckdb_list_entry list = cells__list(&in, row);

		lists[row].offset = cnt;
		for (idx_t at = list.offset; at < list.offset + list.length; at++)
			if (id_list_keep_first(met, from[at], (uint32_t)row + 1))
				ids[cnt++] = from[at];
		lists[row].length = cnt - lists[row].offset;
	}
	return ids && duckdb_list_vector_set_size(output, cnt) == DuckDBSuccess;
}

static void idlists_first_of_each(duckdb_function_info info, duckdb_data_chunk input,
				  duckdb_vector output)
{
	struct function_numbers *f = duckdb_scalar_function_get_extra_info(info);
	struct met met;

	met.cnt = function_ids__cnt(f) + 1;
	met.list = calloc(met.cnt, sizeof(*met.list));
	if (!met.list || !idlists_first_of_chunk(&met, input, output))
		duckdb_scalar_function_set_error(info, "out of memory");
	free(met.list);
}

/* ---- waiting_of() ---------------------------------------------------------------------------- */

#define WAITING_HEAD 3 /* numbers before the callers */

/* Writes the numbers for one stack; returns how many. */
static size_t idlists_waiting_write(const struct waiting *w, const int32_t *ids,
				    const uint16_t *traits, size_t cnt, int32_t *out)
{
	size_t n = WAITING_HEAD;

	out[0] = w->call == WAITING_NONE ? 0 : ids[w->call];
	out[1] = w->waits_in == WAITING_NONE ? 0 : ids[w->waits_in];
	out[2] = w->is_idle;
	for (size_t i = w->waits_in; i < cnt; i++)
		if (i == w->waits_in || !(traits[i] & WAIT_SCHEDULES))
			out[n++] = ids[i];
	return n;
}

static bool idlists_waiting_of_chunk(struct function_numbers *f, duckdb_data_chunk input,
				     duckdb_vector output)
{
	struct cells in = cells__on(duckdb_data_chunk_get_vector(input, 0));
	const int32_t *from = duckdb_vector_get_data(duckdb_list_vector_get_child(in.vector));
	idx_t cnt = 0, rows = duckdb_data_chunk_get_size(input);
	duckdb_list_entry *lists = duckdb_vector_get_data(output);
	int32_t *ids = function_ids__reserve(&in, rows, WAITING_HEAD, output);
	uint16_t *traits = reallocarray(
		NULL, duckdb_list_vector_get_size(duckdb_data_chunk_get_vector(input, 0)) + 1,
		sizeof(*traits));

	for (idx_t row = 0; row < rows && ids && traits; row++) {
		duckdb_list_entry list = cells__list(&in, row);
		struct waiting w;

		function_ids__traits(f, from + list.offset, list.length, traits);
		w = waiting__find(traits, list.length);
		lists[row].offset = cnt;
		lists[row].length = idlists_waiting_write(&w, from + list.offset, traits,
							  list.length, ids + cnt);
		cnt += lists[row].length;
	}
	free(traits);
	return ids && traits && duckdb_list_vector_set_size(output, cnt) == DuckDBSuccess;
}

static void idlists_waiting_of(duckdb_function_info info, duckdb_data_chunk input,
			       duckdb_vector output)
{
	struct function_numbers *f = duckdb_scalar_function_get_extra_info(info);

	if (!idlists_waiting_of_chunk(f, input, output))
		duckdb_scalar_function_set_error(info, "out of memory");
}

/* ---- registration ---------------------------------------------------------------------------- */

int id_lists__register(struct db *db, struct function_numbers *numbers)
{
	static const struct function_ids_scalar scalars[] = {
		{ "first_of_each", idlists_first_of_each, false },
		{ "waiting_of", idlists_waiting_of, false },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]) && !err; i++)
		err = function_ids__add(db, numbers, &scalars[i]);
	return err;
}
