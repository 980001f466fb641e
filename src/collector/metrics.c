// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cputime.h"
#include "collector/memoryparts.h"
#include "collector/textfile.h"
#include "event/kind.h"
#include "stacks/labels.h"

#define EVERY_NS 5000000000
#define PREFIX	 "stacks_collector_"

struct metrics {
	struct textfile *file;
	struct metrics_sources from;
};

struct metrics *metrics__new(const char *path, const struct metrics_sources *from)
{
	struct metrics *m = path ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	m->from = *from;
	m->file = textfile__new(&(struct textfile_options){
		.what = "file of metrics", .path = path, .every_ns = EVERY_NS });
	if (m->file)
		return m;
	free(m);
	return NULL;
}

void metrics__free(struct metrics *m)
{
	if (m)
		textfile__free(m->file);
	free(m);
}

static void metrics_print_family(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

/* A family of one value. */
static void metrics_print_single(FILE *f, const char *name, uint64_t v, const char *help)
{
	bool counts = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;

	metrics_print_family(f, name, counts ? "counter" : "gauge", help);
	fprintf(f, PREFIX "%s %lu\n", name, v);
}

/* Lost events are counted for the first kind of their source. */
static bool metrics_is_first_kind(size_t kind)
{
	size_t k = 0;

	while (strcmp(event_kind__probe(k), event_kind__probe(kind)) != 0)
		k++;
	return k == kind;
}

static void metrics_print_by_kind(FILE *f, const struct session_stats *st)
{
	metrics_print_family(f, "rows_total", "counter", "Rows recorded, by kind of event.");
	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		if (st->rows[k])
			fprintf(f, PREFIX "rows_total{kind=\"%s\"} %lu\n", event_kind__name(k),
				st->rows[k]);
	metrics_print_family(f, "lost_events_total", "counter", "Events lost, by source.");
	for (size_t k = 0; k < EVENT_KIND_CNT; k++)
		if (metrics_is_first_kind(k))
			fprintf(f, PREFIX "lost_events_total{source=\"%s\"} %lu\n",
				event_kind__probe(k), st->lost[k]);
	fprintf(f, PREFIX "lost_events_total{source=\"process\"} %lu\n", st->lost_sideband);
	metrics_print_family(f, "user_stacks_total", "counter",
			     "User stacks walked, by how the walk ended.");
	for (size_t i = 0; i < UNWIND_STATUS_CNT; i++)
		fprintf(f, PREFIX "user_stacks_total{end=\"%s\"} %lu\n", unwind_status__name(i),
			st->unwound[i]);
}

static void metrics_print_memory(FILE *f, const struct metrics_sources *from,
				 const struct session_totals *t)
{
	struct memory_part parts[MEMORY_PART_CNT];
	struct memory_stats m;

	memory__stats(from->memory, &m);
	memory_parts__get(parts, t, &m, from->recording);
	metrics_print_single(f, "memory_limit_bytes", m.max_sz, "Limit by --max-memory.");
	metrics_print_single(f, "memory_anonymous_bytes", m.anonymous_sz,
			     "Anonymous memory in RAM, without the rings.");
	metrics_print_family(f, "memory_part_bytes", "gauge",
			     "Memory of one part of the collector.");
	for (size_t i = 0; i < MEMORY_PART_CNT; i++)
		fprintf(f, PREFIX "memory_part_bytes{part=\"%s\"} %zu\n", parts[i].name,
			parts[i].sz);
	metrics_print_single(f, "memory_evicted_bytes_total", m.evicted_sz,
			     "Data freed because of --max-memory.");
}

static void metrics_print_backlog(FILE *f, const struct session_totals *t)
{
	metrics_print_single(f, "processes", t->processes.processes, "Processes known.");
	metrics_print_single(f, "threads", t->threads, "Threads known.");
	metrics_print_single(f, "waiting_events", t->deferred.cnt,
			     "Events that wait for a file that is being read.");
	metrics_print_single(f, "reading_files", t->reading, "Files that are being read.");
	metrics_print_single(f, "unnamed_stacks", t->unnamed, "Stacks that wait for their names.");
}

static void metrics_print_written(FILE *f, const struct recording *r)
{
	struct recording_stats written;

	recording__stats(r, &written);
	metrics_print_single(f, "written_bytes_total", written.bytes,
			     "Bytes written to the recording.");
	metrics_print_single(f, "batches_total", written.batches, "Batches written.");
	metrics_print_single(f, "removed_batches_total", written.removed_batches,
			     "Batches removed by --keep.");
}

static void metrics_print_cost(FILE *f, struct capture *capture, uint64_t cpu_ns)
{
	size_t cnt;
	struct capture_cost *costs = capture__costs(capture, &cnt);

	metrics_print_family(f, "cpu_seconds_total", "counter",
			     "CPU time of the collector and its workers.");
	fprintf(f, PREFIX "cpu_seconds_total %.3f\n", (double)cpu_ns / 1e9);
	metrics_print_family(f, "bpf_cpu_seconds_total", "counter", "CPU time of a BPF program.");
	for (size_t i = 0; costs && i < cnt; i++)
		fprintf(f, PREFIX "bpf_cpu_seconds_total{program=\"%s\"} %.6f\n", costs[i].program,
			(double)costs[i].run_ns / 1e9);
	metrics_print_family(f, "bpf_runs_total", "counter", "Runs of a BPF program.");
	for (size_t i = 0; costs && i < cnt; i++)
		fprintf(f, PREFIX "bpf_runs_total{program=\"%s\"} %lu\n", costs[i].program,
			costs[i].runs);
	free(costs);
}

void metrics__tick(struct metrics *m, uint64_t now_ns)
{
	FILE *f = m ? textfile__begin(m->file, now_ns) : NULL;
	struct session_totals t;

	if (!f)
		return;
	t = session__totals(m->from.session);
	metrics_print_by_kind(f, session__stats(m->from.session));
	metrics_print_cost(f, m->from.capture, session__cpu_ns(m->from.session));
	metrics_print_memory(f, &m->from, &t);
	metrics_print_backlog(f, &t);
	metrics_print_written(f, m->from.recording);
	textfile__end(m->file, f);
}
