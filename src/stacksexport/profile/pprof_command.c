// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport pprof`, `folded` and `speedscope`: writes a query's result as a profile, in one of
 * its formats. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "pprof/builder.h"
#include "stacksexport/commands.h"
#include "stacksexport/outfile.h"
#include "stacksexport/request.h"
#include "stacksexport/profile/samples.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/profile/viewer.h"

struct profile_format {
	struct outfile_series series; /* .dir is not used */
	const char *default_output;   /* NULL: the next file of the series */
	bool binary;		      /* binary: refused on a terminal */
	bool viewer;		      /* google/pprof shows it */
	int (*write)(struct builder *, const char *path);
};

static const struct profile_format format_pprof = { .series = { .prefix = "pprof",
								.suffix = "pb.gz" },
						    .binary = true,
						    .viewer = true,
						    .write = builder__write };
static const struct profile_format format_folded = { .default_output = "-",
						     .write = builder__write_folded };
static const struct profile_format format_speedscope = { .default_output = "-",
							 .write = builder__write_speedscope };
static const struct profile_format format_otlp = { .default_output = "-",
						   .binary = true,
						   .write = builder__write_otlp };

static void pprof_add_comments(struct builder *b, const struct request *r, int64_t lost)
{
	char text[4096];

	snprintf(text, sizeof(text), "stacksexport %s, query %s", STACKS_VERSION,
		 r->options->arguments[0]);
	builder__comment(b, text);
	snprintf(text, sizeof(text), "recording %s, lost events: %" PRId64, r->files.label, lost);
	builder__comment(b, text);
}

static int pprof_write_out(const struct export_options *o, const struct profile_format *format,
			   struct builder *b, struct outfile *out)
{
	int err;

	if (o->sort)
		builder__sort(b);
	err = format->write(b, out->tmp);
	if (err)
		log__error("cannot write the profile: %s",
			   err == -EFBIG ? "larger than 2 GiB; select a shorter time"
					 : strerror(-err));
	if (err || outfile__commit(out) != 0)
		return STATUS_FAILED;
	if (!out->path)
		return STATUS_OK;
	log__info("wrote %s", out->path);
	if (format->viewer)
		viewer__show(out->path, !o->no_open);
	return STATUS_OK;
}

static bool pprof_has_stacks(const struct builder *b)
{
	struct builder_stats built;

	builder__stats(b, &built);
	return built.stacks;
}

static int pprof_finish(struct request *r, const struct profile_format *format, struct builder *b,
			const struct samples_stats *stats)
{
	const struct export_options *o = r->options;
	struct outfile_series series = { .prefix = format->series.prefix,
					 .suffix = format->series.suffix,
					 .dir = o->dir };
	const char *output = o->output ? o->output : format->default_output;
	struct recording_facts facts = { 0 };
	struct outfile out = { 0 };
	int status = STATUS_FAILED;
	int64_t lost = 0;

	if (request__facts(r, &facts) == 0 && request__lost(r, &lost) == 0) {
		builder__set_time(b, facts.start_ns, facts.wall_ns,
				  stats->quantum_ns == facts.period_ns ? facts.period_ns : 0);
		pprof_add_comments(b, r, lost);
		if (!pprof_has_stacks(b))
			request__stackless(r);
		request__partly(r);
		if (outfile__open(&out, output, &series) == 0)
			status = pprof_write_out(o, format, b, &out);
	}
	outfile__free(&out);
	return status;
}

/* Reads the rows, and builds and writes the profile. */
static int pprof_convert(struct request *r, const struct profile_format *format,
			 const struct samples *samples)
{
	struct samples_stats stats = { 0 };
	struct builder_options options = { .offsets = r->options->offsets,
					   .inlines = r->options->inlines,
					   .binaries = r->binaries,
					   .program = r->options->comm };
	struct builder *b;
	int status = STATUS_FAILED;

	for (size_t i = 0; i < BUILDER_VALUE_CNT; i++)
		options.value_names[i] = samples->names[i];
	b = builder__new(&options);
	if (!b)
		log__error("out of memory");
	else if (samples__read(samples, &r->db, b, &stats) == 0)
		status = stats.rows ? pprof_finish(r, format, b, &stats) : request__empty(r);
	builder__free(b);
	return status;
}

/* Finds the groups of --by. Returns STATUS_OK, or another status after a message. */
static int pprof_read_groups(struct request *r, struct samples *samples, struct grouping *groups)
{
	if (samples->form == SAMPLES_OF_FRAMES)
		return export_options__wrong(r->options,
					     "--by: the query must return ids of stacks, "
					     "not frames");
	if (grouping__read(groups, r, r->options->by) != 0)
		return STATUS_FAILED;
	samples->groups = groups;
	return STATUS_OK;
}

static int pprof_run_query(struct request *r, const struct profile_format *format,
			   const struct statements *st)
{
	struct samples samples = { 0 };
	struct grouping groups = { .cnt = 0 };
	int status = STATUS_FAILED;

	if (db__divide_integers(&r->db) == 0 && db__run_but_last(&r->db, st) == 0 &&
	    samples__init(&samples, &r->db, r->options->arguments[0], st->sql[st->cnt - 1]) == 0)
		status = r->options->by ? pprof_read_groups(r, &samples, &groups) : STATUS_OK;
	if (status == STATUS_OK)
		status = pprof_convert(r, format, &samples);
	grouping__free(&groups);
	samples__free(&samples);
	return status;
}

static int profile__run(const struct export_options *o, const struct profile_format *format)
{
	struct request r = { .options = o };
	struct statements st = { 0 };
	char *text = NULL;
	int status;

	if (!o->arguments[0])
		return export_options__wrong(o, "a file with a query is missing");
	if (o->dir && o->output)
		return export_options__wrong(
			o, "--directory and --output say where to write: give one");
	if (format->binary && o->output && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o,
					     "a profile is not for a terminal: give --output FILE");
	if (o->sort && strcmp(o->sort, "value") != 0)
		return export_options__wrong(o, "--sort '%s': expected value", o->sort);
	if (grouping__check(o) != STATUS_OK)
		return STATUS_USAGE;
	text = share__read_query(o->arguments[0], "sql/pprof");
	status = text ? request__open(&r, o) : STATUS_FAILED;
	if (status == STATUS_OK)
		status = request__parse(&r, o->arguments[0], text, &st);
	if (status == STATUS_OK)
		status = pprof_run_query(&r, format, &st);
	statements__free(&st);
	free(text);
	request__close(&r);
	return status;
}

int pprof__run(const struct export_options *o)
{
	return profile__run(o, &format_pprof);
}

int folded__run(const struct export_options *o)
{
	return profile__run(o, &format_folded);
}

int speedscope__run(const struct export_options *o)
{
	return profile__run(o, &format_speedscope);
}

int otlp__run(const struct export_options *o)
{
	return profile__run(o, &format_otlp);
}
