// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/lossshare.h"

#include <stdbool.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/sources.h"

#define NEGLIGIBLE 10000 /* one event of so many */

struct losses {
	uint64_t kinds;
	double rows, lost; /* sums may be larger than 64 bits */
};

/* The lost notices of processes (`process`) are no events. */
static void losses_add(struct losses *l, const char *name, size_t sz, double cnt)
{
	uint64_t of_source = sources__of_list(name, sz);
	bool notices = sz == strlen("process") && memcmp(name, "process", sz) == 0;

	if (!notices && (!of_source || !l->kinds || of_source & l->kinds))
		l->lost += cnt;
}

static void losses_add_rows(struct losses *l, const char *name, size_t sz, double cnt)
{
	if (!l->kinds || sources__kind(name, sz) & l->kinds)
		l->rows += cnt;
}

/* Adds the rows of a chunk of sql/losses.sql. */
static void losses_take(struct losses *l, duckdb_data_chunk chunk)
{
	struct cells names = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct cells lost = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
	struct cells cnts = cells__on(duckdb_data_chunk_get_vector(chunk, 2));

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		size_t sz = 0;
		const char *name = cells__str(&names, row, &sz);
		double cnt = (double)cells__int(&cnts, row);

		if (cells__int(&lost, row))
			losses_add(l, name, sz, cnt);
		else
			losses_add_rows(l, name, sz, cnt);
	}
}

int loss_share__of(struct db *db, uint64_t kinds, int64_t *lost)
{
	struct losses l = { .kinds = kinds };
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = db__run_file(db, "sql/losses.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		losses_take(&l, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	*lost = l.lost * NEGLIGIBLE > l.lost + l.rows ? (int64_t)l.lost : 0;
	return err;
}
