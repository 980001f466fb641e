// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport trace`: writes the results of queries as one trace, in Chrome's JSON format. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/outfile.h"
#include "stacksexport/piecefile.h"
#include "stacksexport/trace/stacktree.h"
#include "stacksexport/trace/traceevents.h"
#include "stacksexport/trace/tracequery.h"

/* One call of the command. */
struct trace_writer {
	struct request request;
	struct stacktree *stacks;
	struct tracequery queries[EXPORT_ARGUMENTS_MAX];
	int64_t lost;	  /* events */
	int64_t first_ns; /* the zero of the trace */
};

static bool trace_tree_has(const void *stacks, uint64_t key)
{
	struct stacktree_stack stack;

	return stacktree__find(stacks, key, &stack);
}

static void trace_tree_add_frame(const struct named_frame *frame, void *stacks)
{
	stacktree__frame(stacks, frame);
}

static void trace_tree_add_stack(void *stacks, uint64_t key)
{
	stacktree__stack(stacks, key);
}

/* Reports why rows of a query's result are not in the trace. */
static int trace_say_problems(struct trace_writer *t)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = db__run_file(&t->request.db, "sql/trace/problems.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		struct cells query = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
		struct cells problem = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
		struct cells count = cells__on(duckdb_data_chunk_get_vector(chunk, 2));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			size_t sz;
			const char *why = cells__str(&problem, i, &sz);

			log__warn("%s: rows left out: %" PRId64 ": %.*s",
				  t->queries[cells__int(&query, i)].path, cells__int(&count, i),
				  (int)sz, why);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

static int trace_find_first(struct trace_writer *t)
{
	int64_t drawn, left_out, *const fields[] = { &drawn, &left_out, &t->first_ns };

	if (db__read_integers(&t->request.db, "sql/trace/first.sql", fields, 3) != 0)
		return STATUS_FAILED;
	if (drawn)
		return STATUS_OK;
	if (!left_out)
		return request__empty(&t->request);
	log__error("no row can be drawn");
	return STATUS_FAILED;
}

/* Runs all queries before anything is written. */
static int trace_run_queries(struct trace_writer *t)
{
	const struct stack_sink sink = { trace_tree_has, trace_tree_add_frame, trace_tree_add_stack,
					 t->stacks };
	const struct export_options *o = t->request.options;
	int status = STATUS_OK;

	if (db__divide_integers(&t->request.db) != 0 ||
	    db__script(&t->request.db, "sql/trace/tables.sql") != 0)
		return STATUS_FAILED;
	for (size_t i = 0; i < o->argument_cnt && status == STATUS_OK; i++) {
		t->queries[i].path = o->arguments[i];
		status = tracequery__run(&t->queries[i], &t->request, (int)i, &sink);
	}
	if (status == STATUS_OK &&
	    (trace_say_problems(t) != 0 || request__lost(&t->request, &t->lost) != 0))
		status = STATUS_FAILED;
	return status == STATUS_OK ? trace_find_first(t) : status;
}

/* Adds facts about the whole trace: those that a viewer shows, and the zero from which a reader
 * computes unix times. */
static int trace_close_file(const struct trace_writer *t, struct tracefile *file)
{
	const char *program = "stacksexport " STACKS_VERSION;
	char zero[32], lost[32];
	const char *const other[] = {
		"program",     program, "recording", t->request.files.label, "zero_unix_ns", zero,
		"lost_events", lost,	NULL
	};

	snprintf(zero, sizeof(zero), "%" PRId64, t->first_ns);
	snprintf(lost, sizeof(lost), "%" PRId64, t->lost);
	return tracefile__close(file, t->stacks, other);
}

/* Returns 0 or -errno (already logged). */
static int trace_write_file(struct trace_writer *t, const char *path,
			    struct traceevents_stats *stats)
{
	const char *output = t->request.options->output;
	struct tracefile *file = tracefile__open(path, output && piecefile__is_gz(output));
	struct traceevents events = {
		.file = file, .stacks = t->stacks, .queries = t->queries, .first_ns = t->first_ns
	};
	int err = file ? 0 : -errno, written = 0;

	if (file) {
		written = traceevents__write(&events, &t->request.db, stats);
		err = trace_close_file(t, file);
	}
	if (err)
		log__error("cannot write the trace: %s", strerror(-err));
	return err ? err : written;
}

static void trace_say_stats(const struct trace_writer *t, const struct traceevents_stats *stats)
{
	for (size_t i = 0; i < t->request.options->argument_cnt; i++)
		if (!stats->events[i])
			log__warn("%s: no row of its result is in the trace", t->queries[i].path);
	if (stats->overlapping)
		log__warn("%zu events left out: more than %d overlap on one thread",
			  stats->overlapping, LANES_MAX);
}

static int trace_write_out(struct trace_writer *t, struct outfile *out)
{
	struct traceevents_stats stats = { 0 };

	if (trace_write_file(t, out->tmp, &stats) != 0 || outfile__commit(out) != 0)
		return STATUS_FAILED;
	trace_say_stats(t, &stats);
	if (!out->path)
		return STATUS_OK;
	log__info("wrote %s", out->path);
	log__info("open it with: https://ui.perfetto.dev (Open trace file; it stays in your "
		  "browser) or chrome://tracing");
	return STATUS_OK;
}

static int trace_run(struct trace_writer *t)
{
	const struct export_options *o = t->request.options;
	struct outfile_series series = { .prefix = "traceview", .suffix = "json", .dir = o->dir };
	struct outfile out = { 0 };
	int status = request__open(&t->request, o);

	if (status == STATUS_OK && grouping__use(&t->request.db, o->by) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK && !(t->stacks = stacktree__new(t->request.binaries))) {
		log__error("out of memory");
		status = STATUS_FAILED;
	}
	if (status == STATUS_OK)
		status = trace_run_queries(t);
	if (status == STATUS_OK && stacktree__err(t->stacks)) {
		log__error("out of memory");
		status = STATUS_FAILED;
	}
	if (status == STATUS_OK)
		status = outfile__open(&out, o->output, &series) == 0 ? trace_write_out(t, &out)
								      : STATUS_FAILED;
	outfile__free(&out);
	return status;
}

int trace__run(const struct export_options *o)
{
	struct trace_writer t = { .request = { .options = o } };
	int status;

	if (!o->argument_cnt)
		return export_options__wrong(o, "a file with a query is missing");
	if (o->dir && o->output)
		return export_options__wrong(
			o, "--directory and --output say where to write: give one");
	if (o->output && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o,
					     "a trace is not for a terminal: give --output FILE");
	if (grouping__check_tracks(o) != STATUS_OK)
		return STATUS_USAGE;
	status = trace_run(&t);
	for (size_t i = 0; i < o->argument_cnt; i++)
		tracequery__free(&t.queries[i]);
	stacktree__free(t.stacks);
	request__close(&t.request);
	return status;
}
