// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/replace.h"

#define EVERY_NS 500000000

struct report {
	char *path; /* the status file; NULL if none is written */
	bool terminal;
	uint64_t said_ns;
};

struct report *report__new(const char *status)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->terminal = isatty(STDERR_FILENO);
	r->said_ns = monotonic__ns();
	if (!status)
		return r;
	r->path = strdup(status);
	if (r->path)
		return r;
	report__free(r);
	return errno = ENOMEM, NULL;
}

void report__free(struct report *r)
{
	if (!r)
		return;
	free(r->path);
	free(r);
}

static double report_converted_percent(const struct tally_sums *s)
{
	return s->samples ? 100.0 * (double)s->to_root / (double)s->samples : 100;
}

static void report_print_json(FILE *f, const struct report_facts *facts)
{
	const struct tally_sums *s = facts->sums;

	fprintf(f,
		"{\n  \"pid\": %d,\n  \"ended\": %s,\n  \"samples\": %lu,\n  \"unwound\": %lu,\n"
		"  \"stitched\": %lu,\n  \"lost\": %lu,\n  \"converted_percent\": %.2f,\n  "
		"\"others\": %lu,\n"
		"  \"pending_files\": %zu,\n  \"bytes_read\": %lu,\n  \"bytes_written\": %lu\n}\n",
		(int)getpid(), facts->ended ? "true" : "false", s->samples, s->to_root, s->stitched,
		s->lost, report_converted_percent(s), s->others, facts->pending, facts->read_sz,
		facts->written_sz);
}

static void report_write_file(struct report *r, const struct report_facts *facts)
{
	char *text = NULL;
	size_t sz;
	FILE *f = open_memstream(&text, &sz);
	int err = f ? 0 : -errno;

	if (f) {
		report_print_json(f, facts);
		err = fclose(f) ? -errno : replace__file(r->path, text, sz);
	}
	free(text);
	if (!err)
		return;
	log__warn("cannot write the status file %s: %s", r->path, strerror(-err));
	free(r->path);
	r->path = NULL;
}

static void report_show(const struct report_facts *facts)
{
	char share[16] = "";

	if (facts->ended) {
		fputs("\r\033[K", stderr);
		return;
	}
	if (facts->input_sz)
		snprintf(share, sizeof(share), " of %.1f", (double)facts->input_sz / (1024 * 1024));
	fprintf(stderr, "\r\033[K%.1f%s MB read, %lu samples, %.1f %% to the root%s",
		(double)facts->read_sz / (1024 * 1024), share, facts->sums->samples,
		report_converted_percent(facts->sums), facts->pending ? ", waiting for files" : "");
}

void report__tick(struct report *r, const struct report_facts *facts)
{
	uint64_t now_ns = monotonic__ns();

	if (!facts->ended && now_ns - r->said_ns < EVERY_NS)
		return;
	r->said_ns = now_ns;
	if (r->terminal)
		report_show(facts);
	if (r->path)
		report_write_file(r, facts);
}
