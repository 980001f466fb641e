/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording behind the page: its tables in memory (sql/view/open.sql), and queries on them. */
#ifndef STACKSEXPORT_WEB_SOURCE_H
#define STACKSEXPORT_WEB_SOURCE_H

#include <pthread.h>

#include "stacksexport/model/model.h"
#include "stacksexport/request.h"
#include "stacksexport/web/webparams.h"
#include "stacksexport/web/running.h"

/* The parts that are read when a recording is opened. Requests wait for those that they need. */
enum source_part { PART_TOTALS, PART_STACKS, PART_SAMPLES, PART_WAITS, PART_MEMORY, PART_CNT };

#define SOURCE_CONNECTIONS_MAX 32
#define SOURCE_STEPS_MAX       8

/* `lock` protects the fields below it. */
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
	bool live, ends; /* live: the collector still writes it; ends: the program ends */
	bool partial,
		stuck; /* steps.h: only its first part is shown; stuck: the rest cannot be read */
	int64_t begins_ns, ends_ns; /* unix time; valid with PART_TOTALS */
	int64_t after_ns; /* from the beginning of the recording to begins_ns; with PART_TOTALS */
	const struct recfiles *shown;		/* what new connections read; only the reader
						   changes it */
	struct db idle[SOURCE_CONNECTIONS_MAX]; /* connections that no request uses */
	size_t idle_cnt;
	struct recfiles steps[SOURCE_STEPS_MAX]; /* borrowed from request.files; of the reader */
	struct recfiles **lists; /* owned by the reader: one list of batches for each time that new
				    ones appeared */
	size_t list_cnt;
	pthread_mutex_t wakings_lock;
	bool has_wakings; /* page.wakings exists; protected by wakings_lock */
};

/* Stops the thread of source__open() (sourcethread.h). */
void source__close(struct source *);

/* Waits until a part has been read. Returns 0, or -EIO with the reason in `error`. */
int source__await(struct source *, enum source_part);

/* Connects to the database again, with the files that are shown now. Returns 0 or -errno. */
int source__connect(struct source *, struct db *out);

/* Waits that long in the reader's thread. Returns false if the program ends. */
bool source__wait(struct source *, uint64_t ns);

/* A query of a request. */
struct source_query {
	const char *path; /* sql/view/… below the share folder, or NULL */
	const char *sql;  /* one statement, if `path` is NULL */
	const struct query_params *params;
	uint64_t limit_ns; /* 0: no limit */
	bool can_cancel;
};

/*
 * Runs the query to its end with the parameters that it names. Returns 0; -EINVAL, or -EINTR if it
 * was interrupted, with DuckDB's message in error[error_sz]. The caller destroys *out in either
 * case.
 */
int source__run(struct source *, const struct source_query *, duckdb_result *out,
		struct buf *error);

#endif
