/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording behind the page: its tables in memory (sql/view/open.sql), and queries on them. */
#ifndef STACKSEXPORT_WEB_SOURCE_H
#define STACKSEXPORT_WEB_SOURCE_H

#include <pthread.h>

#include "stacksexport/model/model.h"
#include "stacksexport/request.h"
#include "stacksexport/web/webparams.h"
#include "stacksexport/web/running.h"

/* What is read when a recording is opened, and can be waited for. */
enum source_part { PART_TOTALS, PART_STACKS, PART_SAMPLES, PART_WAITS, PART_MEMORY, PART_CNT };

#define SOURCE_CONNECTIONS_MAX 32

/* Fields below `lock` belong to it. */
struct source {
	struct export_options options; /* of the request */
	struct request request;
	struct running *running; /* borrowed */
	struct model *model;	 /* borrowed */
	pthread_t reader;
	bool has_reader;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned done, failed; /* 1 << enum source_part */
	char error[256];
	bool live, ends;	    /* live: the collector writes it; ends: the program does */
	int64_t begins_ns, ends_ns; /* unix time; valid with PART_TOTALS */
	struct db idle[SOURCE_CONNECTIONS_MAX]; /* connections that no request uses */
	size_t idle_cnt;
	struct recfiles **lists; /* of the reader: the batches of each time that new ones came */
	size_t list_cnt;
	pthread_mutex_t wakings_lock;
	bool has_wakings; /* page.wakings is there; belongs to wakings_lock */
};

/*
 * Opens a recording and starts to read it in a thread of its own. Returns STATUS_OK, or an exit
 * status after reporting; source__close() in either case.
 */
int source__open(struct source *, const struct export_options *, struct running *, struct model *);
void source__close(struct source *);

/* Waits until a part has been read. Returns 0, or -EIO with the reason in `error`. */
int source__await(struct source *, enum source_part);

/* A query of a request. */
struct source_query {
	const char *path; /* sql/view/… below the share folder, or NULL */
	const char *sql;  /* one statement, if `path` is NULL */
	const struct query_params *params;
	uint64_t limit_ns; /* 0: it may take any time */
	bool can_cancel;
};

/*
 * Runs it to the end with the parameters that it names. The caller destroys *out in either case.
 * Returns 0; -EINVAL, or -EINTR if it was interrupted, with DuckDB's words in error[error_sz].
 */
int source__run(struct source *, const struct source_query *, duckdb_result *out,
		struct buf *error);

#endif
