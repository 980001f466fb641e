// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/progress.h"

#define JOIN_NS 100000000

/* Interrupts what the reader's thread runs until it has ended: it may be between two queries. */
static void source_join_reader(struct source *s)
{
	struct timespec until;

	do {
		running__stop(s->running);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += JOIN_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(s->reader, NULL, &until) == ETIMEDOUT);
}

void source__close(struct source *s)
{
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->has_reader)
		source_join_reader(s);
	while (s->idle_cnt)
		duckdb_disconnect(&s->idle[--s->idle_cnt].connection);
	request__close(&s->request);
	for (size_t i = 0; i < s->list_cnt; i++) {
		recfiles__free(s->lists[i]);
		free(s->lists[i]);
	}
	free(s->lists);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->wakings_lock);
	pthread_mutex_destroy(&s->lock);
}

int source__await(struct source *s, enum source_part part)
{
	int err;

	pthread_mutex_lock(&s->lock);
	while (!((s->done | s->failed) & 1u << part))
		pthread_cond_wait(&s->changed, &s->lock);
	err = s->done & 1u << part ? 0 : -EIO;
	pthread_mutex_unlock(&s->lock);
	return err;
}

bool source__wait(struct source *s, uint64_t ns)
{
	struct timespec until;
	bool ends;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)((until.tv_nsec + (int64_t)ns) / 1000000000);
	until.tv_nsec = (until.tv_nsec + (int64_t)ns) % 1000000000;
	pthread_mutex_lock(&s->lock);
	while (!s->ends && pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
		;
	ends = s->ends;
	pthread_mutex_unlock(&s->lock);
	return !ends;
}

/* ---- connections ---------------------------------------------------------------------------- */

int source__connect(struct source *s, struct db *out)
{
	struct db own = s->request.db;

	pthread_mutex_lock(&s->lock);
	own.files = s->shown;
	pthread_mutex_unlock(&s->lock);
	return db__connect_again(&own, out);
}

/* Each request has its own connection while its query runs. */
static int source_connection_take(struct source *s, struct db *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->idle_cnt ? s->idle[--s->idle_cnt] : (struct db){ 0 };
	pthread_mutex_unlock(&s->lock);
	return out->connection ? 0 : source__connect(s, out);
}

static void source_connection_give_back(struct source *s, struct db *db)
{
	bool kept = false;

	pthread_mutex_lock(&s->lock);
	if (db->connection && s->idle_cnt < SOURCE_CONNECTIONS_MAX && db->files == s->shown) {
		s->idle[s->idle_cnt++] = *db;
		kept = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (!kept)
		duckdb_disconnect(&db->connection);
}

/* ---- queries -------------------------------------------------------------------------------- */

/* Binds each parameter that the statement names; without a value it is null. */
static bool source_bind_params(duckdb_prepared_statement prepared,
			       const struct query_params *params)
{
	bool good = true;

	for (idx_t i = 1; i <= duckdb_nparams(prepared) && good; i++) {
		const char *name = duckdb_parameter_name(prepared, i);
		const char *value = params && name ? query_params__find(params, name) : NULL;

		good = (value ? duckdb_bind_varchar(prepared, i, value)
			      : duckdb_bind_null(prepared, i)) == DuckDBSuccess;
		duckdb_free((void *)name);
	}
	return good;
}

static int source_run_failed(struct buf *error, const char *words)
{
	buf__reset(error);
	buf__str(error, words ? words : "out of memory");
	return db__is_interrupt(words) ? -EINTR : -EINVAL;
}

static int source_run_on(struct db *db, const struct source_query *q, const char *sql,
			 duckdb_result *out, struct buf *error)
{
	duckdb_prepared_statement prepared = NULL;
	int err = 0;

	if (duckdb_prepare(db->connection, sql, &prepared) != DuckDBSuccess ||
	    !source_bind_params(prepared, q->params))
		err = source_run_failed(error, duckdb_prepare_error(prepared));
	else if (duckdb_execute_prepared(prepared, out) != DuckDBSuccess)
		err = source_run_failed(error, duckdb_result_error(out));
	duckdb_destroy_prepare(&prepared);
	return err;
}

int source__run(struct source *s, const struct source_query *q, duckdb_result *out,
		struct buf *error)
{
	struct running_task task = { .what = q->path ? q->path : "SQL",
				     .limit_ns = q->limit_ns,
				     .can_cancel = q->can_cancel };
	char *text = q->path ? share__read(q->path) : NULL;
	struct db db = { 0 };
	int err;

	*out = (duckdb_result){ 0 };
	if ((q->path && !text) || source_connection_take(s, &db) != 0) {
		free(text);
		return source_run_failed(error, NULL);
	}
	task.connection = db.connection;
	running__begin(s->running, &task);
	progress__query(db.connection);
	err = source_run_on(&db, q, text ? text : q->sql, out, error);
	progress__query(NULL);
	running__end(s->running, &task);
	source_connection_give_back(s, &db);
	free(text);
	return err;
}
