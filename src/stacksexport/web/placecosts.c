// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/placecosts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "stacksexport/duck/cells.h"

/* The columns of the queries that count here. */
enum cost_column { COST_USTACK = 1, COST_KSTACK, COST_VALUE, COST_BLOCKED, COST_RUNNABLE };

static struct place_cost *cost_at(struct place_costs *c, const struct model_frame *frame)
{
	struct place_cost *costs = array__room(c->costs, c->places.cnt, &c->cap, sizeof(*costs));
	uint64_t place = frame->address + frame->offset;
	bool is_new = false;
	uint32_t index;

	if (!costs)
		return NULL;
	c->costs = costs;
	index = keymap__add(&c->places, place, place ? 0 : (uint64_t)frame->line, &is_new);
	if (index == KEYMAP_NONE)
		return NULL;
	if (is_new) {
		costs[index] = (struct place_cost){ .place = place,
						    .file = frame->file ? frame->file : frame->path,
						    .line = frame->line };
		c->path = frame->path;
		c->build_id = frame->build_id;
		c->start = frame->address;
	}
	return &costs[index];
}

/* Returns true if the same place is also nearer to the leaf. */
static bool placecosts_is_again(const uint32_t *frames, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (frames[i] == frames[at])
			return true;
	return false;
}

static int placecosts_add_stack(struct place_costs *c, const struct stackset *s, uint64_t id,
				int64_t value)
{
	size_t cnt;
	const uint32_t *frames = stackset__find(s, id, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		const struct model_frame *frame = stackset__frame_at(s, frames[i]);
		struct place_cost *cost;

		if (frame->function != c->function || placecosts_is_again(frames, i))
			continue;
		cost = cost_at(c, frame);
		if (!cost)
			return -ENOMEM;
		cost->total = trie__add(cost->total, value);
	}
	return 0;
}

static int placecosts_add_leaf(struct place_costs *c, const struct stackset *s, uint64_t id,
			       int64_t value)
{
	size_t cnt;
	const uint32_t *frames = stackset__find(s, id, &cnt);
	const struct model_frame *frame = cnt ? stackset__frame_at(s, frames[0]) : NULL;
	struct place_cost *cost;

	if (!frame || frame->function != c->function)
		return 0;
	cost = cost_at(c, frame);
	if (cost)
		cost->self = trie__add(cost->self, value);
	return cost ? 0 : -ENOMEM;
}

static uint64_t placecosts_id_at(const struct cells *c, idx_t row)
{
	return cells__is_null(c, row) ? 0 : ((const uint64_t *)c->data)[row];
}

static int placecosts_add_row(struct place_costs *c, const struct stackset *s,
			      duckdb_data_chunk chunk, idx_t row)
{
	struct cells u = cells__on(duckdb_data_chunk_get_vector(chunk, COST_USTACK));
	struct cells k = cells__on(duckdb_data_chunk_get_vector(chunk, COST_KSTACK));
	uint64_t ustack = placecosts_id_at(&u, row), kstack = placecosts_id_at(&k, row);
	int64_t value = 0;
	int err;

	for (idx_t i = COST_VALUE; i <= COST_RUNNABLE; i++) {
		struct cells part = cells__on(duckdb_data_chunk_get_vector(chunk, i));

		value = trie__add(value, cells__int(&part, row));
	}
	err = placecosts_add_stack(c, s, ustack, value);
	if (!err)
		err = placecosts_add_stack(c, s, kstack, value);
	return err ? err : placecosts_add_leaf(c, s, kstack ? kstack : ustack, value);
}

static int placecosts_add_rows(struct place_costs *c, const struct stackset *s,
			       duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !err; row++)
			err = placecosts_add_row(c, s, chunk, row);
		duckdb_destroy_data_chunk(&chunk);
	}
	return err;
}

int place_costs__sum(struct place_costs *c, struct model *m, uint32_t function,
		     struct metric_rows *rows)
{
	int err;

	*c = (struct place_costs){ .function = function };
	err = placecosts_add_rows(c, m->stacks, &rows->samples);
	return err ? err : placecosts_add_rows(c, m->stacks, &rows->waits);
}

void place_costs__free(struct place_costs *c)
{
	keymap__free(&c->places);
	free(c->costs);
}
