// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/tracks/threadnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"

static char *threadnames_copy_text(const struct cells *c, idx_t row)
{
	size_t sz;
	const char *s = cells__str(c, row, &sz);

	return strndup(s ? s : "", sz);
}

static void name__free(struct thread_name *n)
{
	if (!n)
		return;
	free(n->command);
	free(n->thread);
	free(n);
}

static int threadnames_take_chunk(struct thread_names *names, duckdb_data_chunk chunk)
{
	struct cells c[4];

	for (idx_t i = 0; i < 4; i++)
		c[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i));
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		struct thread_name *n = calloc(1, sizeof(*n));

		if (!n)
			return -ENOMEM;
		n->id.pid = (int32_t)cells__int(&c[0], row);
		n->id.tid = (int32_t)cells__int(&c[1], row);
		n->command = threadnames_copy_text(&c[2], row);
		n->thread = threadnames_copy_text(&c[3], row);
		if (n->command && n->thread)
			HASH_ADD(hh, names->names, id, sizeof(n->id), n);
		if (!n->command || !n->thread || !HASH_ADDED(n)) {
			name__free(n);
			return -ENOMEM;
		}
	}
	return 0;
}

int thread_names__read(struct thread_names *names, struct db *db)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = db__run_file(db, "sql/trace/threads.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		err = threadnames_take_chunk(names, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	if (err == -ENOMEM)
		log__error("out of memory");
	return err;
}

const struct thread_name *thread_names__find(const struct thread_names *names, struct thread_id id)
{
	struct thread_name *n;

	HASH_FIND(hh, names->names, &id, sizeof(id), n);
	return n;
}

void thread_names__free(struct thread_names *names)
{
	struct thread_name *n, *next;

	HASH_ITER (hh, names->names, n, next) {
		HASH_DEL(names->names, n);
		name__free(n);
	}
}
