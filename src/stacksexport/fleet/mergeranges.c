// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/share.h"

/* Groups on their way into ranges. */
struct dividing {
	struct merge_ranges *to;
	uint64_t max_rows, row_cnt; /* row_cnt: since the beginning of the range */
};

static char *mergeranges_text_at(const struct cells *cells, idx_t row)
{
	size_t sz;
	const char *s = cells__str(cells, row, &sz);

	return s ? strndup(s, sz) : strdup("");
}

/* A group of rows: command, host, slot, number of rows. Begins a range if this one would be too
 * large. */
static int mergeranges_take_group(struct dividing *d, const struct cells cells[4], idx_t row)
{
	struct merge_ranges *r = d->to;
	uint64_t cnt = (uint64_t)cells__int(&cells[3], row);
	struct merge_key *begins, *key;

	r->row_cnt += cnt;
	d->row_cnt += cnt;
	if (d->row_cnt == cnt || d->row_cnt <= d->max_rows)
		return 0;
	begins = array__room(r->begins, r->cnt, &r->cap, sizeof(*begins));
	if (!begins)
		return -ENOMEM;
	r->begins = begins;
	key = &begins[r->cnt++];
	*key = (struct merge_key){ mergeranges_text_at(&cells[0], row),
				   mergeranges_text_at(&cells[1], row),
				   cells__int(&cells[2], row) };
	d->row_cnt = cnt;
	return key->command && key->host ? 0 : -ENOMEM;
}

static int mergeranges_take_groups(struct dividing *d, duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		struct cells cells[4];

		for (idx_t c = 0; c < 4; c++)
			cells[c] = cells__on(duckdb_data_chunk_get_vector(chunk, c));
		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk) && !err; i++)
			err = mergeranges_take_group(d, cells, i);
		duckdb_destroy_data_chunk(&chunk);
	}
	return err;
}

/* All rows are one range. */
static int mergeranges_take_count(struct dividing *d, duckdb_result *result)
{
	duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
	struct cells cells = cells__on(chunk ? duckdb_data_chunk_get_vector(chunk, 0) : NULL);

	d->to->row_cnt = chunk ? (uint64_t)cells__int(&cells, 0) : 0;
	duckdb_destroy_data_chunk(&chunk);
	return 0;
}

int merge_ranges__read(struct merge_ranges *r, struct db *db, size_t max_rows, uint64_t at_most)
{
	bool one = at_most <= max_rows;
	char *sql = share__read(one ? "sql/merge/count.sql" : "sql/merge/groups.sql");
	struct dividing d = { .to = r, .max_rows = max_rows };
	duckdb_result result = { 0 };
	int err = sql ? 0 : -ENOENT;

	*r = (struct merge_ranges){ 0 };
	if (!err && duckdb_query(db->connection, sql, &result) != DuckDBSuccess)
		err = -EIO;
	if (!err)
		err = (one ? mergeranges_take_count : mergeranges_take_groups)(&d, &result);
	duckdb_destroy_result(&result);
	free(sql);
	return err;
}

void merge_ranges__free(struct merge_ranges *r)
{
	for (size_t i = 0; i < r->cnt; i++) {
		free(r->begins[i].command);
		free(r->begins[i].host);
	}
	free(r->begins);
	*r = (struct merge_ranges){ 0 };
}

/* Compares by bytes, as DuckDB sorts texts. */
static int mergeranges_text_compare(const char *a, struct string b)
{
	size_t sz = strlen(a);
	int c = memcmp(a, b.data, sz < b.sz ? sz : b.sz);

	return c ? c : (sz > b.sz) - (sz < b.sz);
}

struct merge_span merge_ranges__of(const struct merge_ranges *r, struct string command,
				   struct string host)
{
	struct merge_span span = { 0, 0 };

	for (size_t i = 0; i < r->cnt; i++) {
		int c = mergeranges_text_compare(r->begins[i].command, command);

		c = c ? c : mergeranges_text_compare(r->begins[i].host, host);
		span.first += c < 0;
		span.last += c <= 0;
	}
	return span;
}
