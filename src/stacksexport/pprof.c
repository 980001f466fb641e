// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport pprof`: a query's result as a profile. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "stacksexport/builder.h"
#include "stacksexport/commands.h"
#include "stacksexport/outfile.h"
#include "stacksexport/request.h"
#include "stacksexport/samples.h"
#include "stacksexport/share.h"
#include "stacksexport/viewer.h"

/* What sql/recording.sql says. */
struct recording_facts {
	int64_t start_ns, wall_ns, period_ns, lost;
};

static int read_facts(struct request *r, struct recording_facts *facts)
{
	duckdb_result result;
	duckdb_data_chunk chunk = NULL;
	int64_t *fields[] = { &facts->start_ns, &facts->wall_ns, &facts->period_ns, &facts->lost };
	int err = db__run_file(&r->db, "sql/recording.sql", &result);

	if (!err)
		chunk = duckdb_fetch_chunk(result);
	for (idx_t i = 0; chunk && i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, i));

		*fields[i] = cells__int(&c, 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err;
}

static void add_comments(struct builder *b, const struct request *r,
			 const struct recording_facts *facts)
{
	char text[4096];

	snprintf(text, sizeof(text), "stacksexport %s, query %s", STACKS_VERSION,
		 r->options->argument);
	builder__comment(b, text);
	snprintf(text, sizeof(text), "recording %s, lost events: %" PRId64, r->files.label,
		 facts->lost);
	builder__comment(b, text);
}

static int write_out(const struct export_options *o, struct builder *b, struct outfile *out)
{
	int err = builder__write(b, out->tmp);

	if (err)
		log__error("cannot write the profile: %s",
			   err == -EFBIG ? "it is larger than 2 GiB; select a shorter time"
					 : strerror(-err));
	if (err || outfile__commit(out) != 0)
		return STATUS_FAILED;
	if (!out->path)
		return STATUS_OK;
	log__info("wrote %s", out->path);
	viewer__show(out->path, !o->no_open);
	return STATUS_OK;
}

/* ~/stacks_export_data, visible on purpose. NULL when out of memory. */
static char *default_dir(void)
{
	const char *home = getenv("HOME");
	struct passwd *user = home && *home ? NULL : getpwuid(getuid());
	char *dir;

	if (user)
		home = user->pw_dir;
	return asprintf(&dir, "%s/stacks_export_data", home && *home ? home : ".") < 0 ? NULL : dir;
}

static int finish(struct request *r, struct builder *b, const struct samples_stats *stats)
{
	const struct export_options *o = r->options;
	char *dir = o->dir ? strdup(o->dir) : default_dir();
	struct recording_facts facts = { 0 };
	struct outfile out = { 0 };
	int status = STATUS_FAILED;

	if (dir && read_facts(r, &facts) == 0) {
		builder__set_time(b, facts.start_ns, facts.wall_ns,
				  stats->quantum_ns == facts.period_ns ? facts.period_ns : 0);
		add_comments(b, r, &facts);
		if (facts.lost)
			log__warn("%" PRId64
				  " events were lost while recording: sums are too small",
				  facts.lost);
		if (outfile__open(&out, o->output, dir) == 0)
			status = write_out(o, b, &out);
	}
	outfile__free(&out);
	free(dir);
	return status;
}

/* Reads the rows, builds the profile, writes it. */
static int convert(struct request *r, duckdb_result *result)
{
	char *names[BUILDER_VALUE_CNT] = { 0 };
	struct samples_stats stats = { 0 };
	struct builder_options options = { .offsets = r->options->offsets,
					   .inlines = r->options->inlines };
	struct builder *b = NULL;
	int status = STATUS_FAILED;

	if (samples__check(r->options->argument, result, names) != 0)
		return STATUS_FAILED;
	options.lines = binary_lines__new(r->options->binary);
	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		options.value_names[i] = names[i];
	if (options.lines)
		b = builder__new(&options);
	if (b) {
		samples__read(result, b, &stats);
		status = stats.rows ? finish(r, b, &stats) : request__empty(r);
	} else {
		log__error("out of memory");
	}
	builder__free(b);
	binary_lines__free(options.lines);
	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		free(names[i]);
	return status;
}

/* The predecessor's queries divide integers as its SQL did. */
static int run_query(struct request *r, const struct statements *st)
{
	duckdb_result result;
	int status = STATUS_FAILED;

	if (db__run(&r->db, "SET integer_division = true", &result) == 0) {
		duckdb_destroy_result(&result);
		if (db__run_but_last(&r->db, st) == 0 &&
		    db__run(&r->db, st->sql[st->cnt - 1], &result) == 0)
			status = convert(r, &result);
	}
	duckdb_destroy_result(&result);
	return status;
}

int pprof__run(const struct export_options *o)
{
	struct request r = { .options = o };
	struct statements st = { 0 };
	char *text = NULL;
	int status;

	if (!o->argument)
		return export_options__wrong(o, "a file with a query is missing");
	if (o->dir && o->output)
		return export_options__wrong(
			o, "--directory and --output say where to write: give one");
	if (o->output && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o,
					     "a profile is not for a terminal: give --output FILE");
	text = share__read_query(o->argument);
	status = text ? request__open(&r, o) : STATUS_FAILED;
	if (status == STATUS_OK)
		status = request__parse(&r, o->argument, text, &st);
	if (status == STATUS_OK)
		status = run_query(&r, &st);
	statements__free(&st);
	free(text);
	request__close(&r);
	return status;
}
