// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/batches.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/frames.h"
#include "stacksexport/duck/share.h"

static void reading_done(struct source *s, enum source_part part)
{
	pthread_mutex_lock(&s->lock);
	s->done |= 1u << part;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Ends the wait for parts that have not been read: they never will be. */
static void reading_failed(struct source *s, unsigned parts, const char *words)
{
	pthread_mutex_lock(&s->lock);
	s->failed |= parts;
	snprintf(s->error, sizeof(s->error), "%s", words && *words ? words : "out of memory");
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int reading_run(struct source *s, const char *path, duckdb_result *out)
{
	struct source_query query = { .path = path };
	struct buf error = { 0 };
	int err = source__run(s, &query, out, &error);

	if (err) {
		buf__u8(&error, 0);
		if (err != -EINTR) /* the program ends */
			log__error("%s: %s", path,
				   buf__err(&error) ? "?" : (const char *)error.data);
		reading_failed(s, ~(1u << PART_STACKS),
			       buf__err(&error) ? NULL : (const char *)error.data);
	}
	buf__free(&error);
	return err;
}

static int reading_load(struct source *s, const char *path)
{
	duckdb_result result;
	int err = reading_run(s, path, &result);

	duckdb_destroy_result(&result);
	return err;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int reading_read_facts(struct source *s)
{
	duckdb_result result;
	duckdb_data_chunk chunk = NULL;
	int err = reading_run(s, "sql/view/facts.sql", &result);

	if (!err)
		chunk = duckdb_fetch_chunk(result);
	if (chunk) {
		struct cells begins = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells ends = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
		struct cells after = cells__on(duckdb_data_chunk_get_vector(chunk, 2));

		pthread_mutex_lock(&s->lock);
		s->begins_ns = cells__int(&begins, 0);
		s->ends_ns = cells__int(&ends, 0);
		s->after_ns = cells__int(&after, 0);
		pthread_mutex_unlock(&s->lock);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err;
}

static int reading_read_totals(struct source *s)
{
	int err = reading_load(s, "sql/view/load_totals.sql");

	if (!err)
		err = reading_load(s, "sql/view/load_threads.sql");
	if (!err)
		err = reading_load(s, "sql/view/load_unwinds.sql");
	return err ? err : reading_read_facts(s);
}

static int reading_read_samples(struct source *s)
{
	return reading_load(s, "sql/view/load_samples.sql");
}

static int reading_read_waits(struct source *s)
{
	return reading_load(s, "sql/view/load_waits.sql");
}

static int reading_read_memory(struct source *s)
{
	return reading_load(s, "sql/view/load_memory.sql");
}

static void reading_take_frame(const struct named_frame *frame, void *stacks)
{
	stackset__frame(stacks, frame);
}

static void reading_take_stacks(struct model *m, duckdb_data_chunk chunk)
{
	struct cells ids = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct frames frames = frames__on(duckdb_data_chunk_get_vector(chunk, 1));

	pthread_mutex_lock(&m->lock);
	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		frames__each(&frames, row, reading_take_frame, m->stacks);
		stackset__stack(m->stacks, ((const uint64_t *)ids.data)[row]);
	}
	pthread_mutex_unlock(&m->lock);
}

/* Streams the rows instead of storing them, because frames are long. */
static int reading_stream_stacks(struct source *s, struct db *db,
				 duckdb_prepared_statement prepared)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	const char *words;
	int err = 0;

	if (duckdb_execute_prepared_streaming(prepared, &result) != DuckDBSuccess)
		err = -EINVAL;
	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		reading_take_stacks(s->model, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	words = duckdb_result_error(&result);
	if (words)
		err = db__is_interrupt(words) ? -EINTR : -EINVAL;
	if (err && err != -EINTR) { /* -EINTR: the program ends */
		log__error("%s", words);
		batches__blame(db, db->files);
	}
	duckdb_destroy_result(&result);
	return err;
}

static int reading_read_stacks_of(struct source *s, struct db *db, bool in_background)
{
	struct running_task task = { .what = "stacks",
				     .connection = db->connection,
				     .in_background = in_background };
	duckdb_prepared_statement prepared = NULL;
	char *sql = share__read("sql/view/load_stacks.sql");
	int err = sql ? db__prepare(db, sql, &prepared) : -ENOENT;

	running__begin(s->running, &task);
	if (!err)
		err = reading_stream_stacks(s, db, prepared);
	running__end(s->running, &task);
	duckdb_destroy_prepare(&prepared);
	free(sql);
	return err;
}

static int reading_read_stacks(struct source *s)
{
	struct db db = { 0 };
	int err = source__connect(s, &db);

	if (!err)
		err = reading_read_stacks_of(s, &db, false);
	if (err)
		reading_failed(s, 1u << PART_STACKS, NULL);
	duckdb_disconnect(&db.connection);
	return err;
}

/* The parts in the order of reading. Stacks have their own thread, because their frames are added
 * one by one. */
static const struct {
	enum source_part part;
	int (*read)(struct source *);
} parts[] = {
	{ PART_TOTALS, reading_read_totals },
	{ PART_SAMPLES, reading_read_samples },
	{ PART_WAITS, reading_read_waits },
	{ PART_MEMORY, reading_read_memory },
};

static void *reading_stacks(void *arg)
{
	struct source *s = arg;

	if (reading_read_stacks(s) == 0)
		reading_done(s, PART_STACKS);
	return NULL;
}

void reading__all(struct source *s)
{
	pthread_t stacks;
	bool has_stacks = pthread_create(&stacks, NULL, reading_stacks, s) == 0;

	if (!has_stacks)
		reading_failed(s, 1u << PART_STACKS, NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && parts[i].read(s) == 0; i++)
		reading_done(s, parts[i].part);
	if (has_stacks)
		pthread_join(stacks, NULL);
}

/* ---- more batches --------------------------------------------------------------------------- */

/* The scripts run in one transaction: requests see the old rows, or all of the new ones. Threads
 * keep their numbers. */
static const char *const scripts[] = {
	"sql/view/clear.sql",	     "sql/view/load_totals.sql",  "sql/view/load_threads.sql",
	"sql/view/load_unwinds.sql", "sql/view/load_samples.sql", "sql/view/load_waits.sql",
	"sql/view/load_memory.sql",  "sql/view/commit.sql",
};

static int reading_again_load(struct source *s, struct db *db)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts) && !err; i++) {
		duckdb_result result;

		err = db__run_file(db, scripts[i], &result);
		duckdb_destroy_result(&result);
	}
	return err ? err : reading_read_facts(s);
}

/* Reads the stacks first, so that they exist before the rows that refer to them. */
static int reading_again_read(struct source *s, const struct recfiles *fresh,
			      const struct recfiles *all)
{
	struct running_task task = { .what = "more batches", .in_background = true };
	struct db db = { 0 };
	int err = source__connect(s, &db);

	if (err)
		log__error("out of memory");
	if (!err)
		err = db__set_files(&db, fresh);
	if (!err)
		err = reading_read_stacks_of(s, &db, true);
	if (!err)
		err = db__set_files(&db, all);
	task.connection = db.connection;
	running__begin(s->running, &task);
	if (!err)
		err = reading_again_load(s, &db);
	running__end(s->running, &task);
	duckdb_disconnect(&db.connection);
	return err;
}

/* Makes new connections see all batches. */
static void reading_again_show(struct source *s, const struct recfiles *all)
{
	pthread_mutex_lock(&s->lock);
	s->shown = all;
	while (s->idle_cnt)
		duckdb_disconnect(&s->idle[--s->idle_cnt].connection);
	pthread_mutex_unlock(&s->lock);
	/* Afterwards, because a request may make them of the earlier batches until then. */
	pthread_mutex_lock(&s->wakings_lock);
	s->has_wakings = false;
	pthread_mutex_unlock(&s->wakings_lock);
}

int reading__again(struct source *s, const struct recfiles *fresh, const struct recfiles *all)
{
	int err = reading_again_read(s, fresh, all);

	if (!err)
		reading_again_show(s, all);
	return err;
}
