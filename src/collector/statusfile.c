// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/statusfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cputime.h"
#include "collector/memoryparts.h"
#include "collector/optiontable.h"
#include "collector/textfile.h"
#include "stacks/labels.h"

#define EVERY_NS 500000000

struct statusfile {
	struct textfile *file;
	struct statusfile_sources from;
	uint64_t shown_ns, cpu_ns;
};

/* Returns the pid in the text; 0 if there is none. */
static int statusfile_writer(FILE *f)
{
	int pid;

	return fscanf(f, " { \"pid\": %d", &pid) == 1 ? pid : 0;
}

int statusfile__pid(const char *path)
{
	return textfile__writer(statusfile_writer, path);
}

struct statusfile *statusfile__new(const char *path, const struct statusfile_sources *from)
{
	struct statusfile *s = path ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->from = *from;
	s->file = textfile__new(&(struct textfile_options){ .what = "status file",
							    .path = path,
							    .every_ns = EVERY_NS,
							    .quiet = strcmp(path, STATUS_FILE) == 0,
							    .writer = statusfile_writer });
	if (s->file)
		return s;
	free(s);
	return NULL;
}

void statusfile__free(struct statusfile *s)
{
	if (s)
		textfile__free(s->file);
	free(s);
}

static void statusfile_print_failed(FILE *f, const struct session_stats *st)
{
	const char *separator = "";

	fprintf(f, "  \"failed\": {");
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++) {
		if (i == UNWIND_ROOT || !st->unwound[i])
			continue;
		fprintf(f, "%s\"%s\": %lu", separator, unwind_status__name(i), st->unwound[i]);
		separator = ", ";
	}
	fprintf(f, "},\n");
}

static void statusfile_print_memory(FILE *f, const struct statusfile_sources *from,
				    const struct session_totals *t)
{
	struct memory_part parts[MEMORY_PART_CNT];
	struct memory_stats m;

	memory__stats(from->memory, &m);
	memory_parts__get(parts, t, &m, from->recording);
	fprintf(f, "  \"memory\": {\"limit\": %zu, \"anonymous\": %zu", m.max_sz, m.anonymous_sz);
	for (size_t i = 0; i < MEMORY_PART_CNT; i++)
		fprintf(f, ", \"%s\": %zu", parts[i].name, parts[i].sz);
	fprintf(f,
		", \"processes\": %zu, \"threads\": %zu, \"files\": %zu, \"unused_freed\": %lu, "
		"\"evicted\": %lu},\n",
		t->processes.processes, t->threads, t->processes.files, m.unused_sz, m.evicted_sz);
}

static void statusfile_print_flight(FILE *f, const struct recording *r)
{
	struct recording_stats stats;

	recording__stats(r, &stats);
	if (stats.flight.is_on)
		fprintf(f,
			"  \"flight\": {\"batches\": %zu, \"bytes\": %zu, \"crowded\": %lu, "
			"\"triggers\": %lu, \"writing\": %s},\n",
			stats.flight.batches, stats.flight.sz, stats.flight.crowded,
			stats.flight.triggers, stats.flight.writing ? "true" : "false");
}

static void statusfile_print(struct statusfile *s, FILE *f, uint64_t now_ns)
{
	const struct session *session = s->from.session;
	const struct session_stats *st = session__stats(session);
	struct session_totals sum = session__totals(session);
	const struct table_store_stats *tables = &sum.unwinder.tables;
	uint64_t cpu_ns = session__cpu_ns(session);
	double converted =
		sum.user_stacks ? 100.0 * (double)sum.to_root / (double)sum.user_stacks : 100;
	double cpu = s->shown_ns
			     ? 100.0 * (double)(cpu_ns - s->cpu_ns) / (double)(now_ns - s->shown_ns)
			     : 0;

	fprintf(f, "{\n  \"pid\": %d,\n  \"samples\": %lu,\n  \"stacks\": %lu,\n", (int)getpid(),
		sum.rows, sum.user_stacks);
	fprintf(f, "  \"unwound\": %lu,\n  \"converted_percent\": %.2f,\n", sum.to_root, converted);
	statusfile_print_failed(f, st);
	fprintf(f, "  \"waiting\": %zu,\n  \"waited\": %lu,\n  \"reading\": %zu,\n",
		sum.deferred.cnt, sum.deferred.waited, sum.reading);
	fprintf(f, "  \"unnamed_stacks\": %zu,\n  \"unnamed\": %zu,\n", sum.unnamed, sum.nameless);
	fprintf(f,
		"  \"tables\": {\"made\": %zu, \"cached\": %zu, \"indexed\": %zu, \"pending\": "
		"%zu, \"none\": %zu, \"bytes\": %zu},\n",
		tables->made, tables->cached, tables->indexed, tables->pending, tables->failed,
		tables->bytes);
	statusfile_print_memory(f, &s->from, &sum);
	statusfile_print_flight(f, s->from.recording);
	fprintf(f, "  \"lost\": %lu,\n  \"own_cpu_percent\": %.2f\n}\n", sum.lost, cpu);
	s->cpu_ns = cpu_ns;
	s->shown_ns = now_ns;
}

void statusfile__tick(struct statusfile *s, uint64_t now_ns)
{
	FILE *f = s ? textfile__begin(s->file, now_ns) : NULL;

	if (!f)
		return;
	statusfile_print(s, f, now_ns);
	textfile__end(s->file, f);
}
