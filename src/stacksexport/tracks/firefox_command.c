// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport firefox`: writes a recording as a processed profile of the Firefox Profiler. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonbuf.h"
#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/outfile.h"
#include "stacksexport/progress.h"
#include "stacksexport/tracks/foxtables.h"
#include "stacksexport/tracks/foxthread.h"
#include "stacksexport/tracks/threadnames.h"
#include "stacksexport/tracks/tracks.h"

#define DEFAULT_FILE "firefox.json.gz"

/* The profiler upgrades files of older versions. Perfetto reads the stacks of this version, but not
 * those of newer ones. */
#define FORMAT_VERSION 65

#define MARKERS                                                                                 \
	"sql/traceview/usdt_all.sql", "sql/traceview/vfs_all.sql", "sql/traceview/blk_all.sql", \
		"sql/traceview/net_all.sql", "sql/traceview/tcp_all.sql",                       \
		"sql/traceview/exec_all.sql"
#define SAMPLES "sql/tracks/samples.sql"
#define WAITS	"sql/tracks/waits.sql"

static const struct firefox_metric {
	const char *name;
	const char *queries[TRACKS_QUERY_MAX];
} metrics[] = {
	{ "wall", { SAMPLES, WAITS, MARKERS } },
	{ "cpu", { SAMPLES, MARKERS } },
	{ "offcpu", { WAITS, MARKERS } },
};

struct firefox {
	struct tracks tracks;
	struct thread_names names;
	struct fox_tables tables;
	struct fox_thread thread; /* the one that is being collected */
	struct thread_id id;	  /* of it */
	struct piecefile *file;
	struct buf *out;
	size_t thread_cnt;
	int64_t begin_ns, end_ns; /* the selected range of the recording */
};

static const struct firefox_metric *firefox_metric_find(const char *name)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (!name || strcmp(metrics[i].name, name) == 0)
			return &metrics[i];
	return NULL;
}

static void firefox_write_text(struct buf *out, const char *key, const char *text)
{
	buf__str(out, key);
	jsonbuf__str(out, text, strlen(text));
}

/* Writes how the markers of a query are shown: their type is the name of the query. */
static void firefox_write_schema(struct buf *out, const struct tracequery *q)
{
	static const char *const numbers[] = { "cpu", "amount", "rate" };

	firefox_write_text(out, "{\"name\":", q->name);
	buf__str(out,
		 ",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		 "\"tableLabel\":\"{marker.name}\",\"chartLabel\":\"{marker.name}\",\"fields\":[");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf__printf(out, "%s{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"integer\"}",
			    i ? "," : "", numbers[i], numbers[i]);
	for (size_t i = 0; i < q->arg_cnt; i++) {
		firefox_write_text(out, ",{\"key\":", q->args[i]);
		firefox_write_text(out, ",\"label\":", q->args[i]);
		buf__str(out, ",\"format\":\"string\"}");
	}
	buf__str(out, "]}");
}

/* Writes what the viewer shows first: the selected range, with the time before the first event. */
static void firefox_write_range(struct firefox *f)
{
	buf__str(f->out, ",\"profilingStartTime\":");
	jsonbuf__millis(f->out, (uint64_t)(f->begin_ns - f->tracks.first_ns));
	buf__str(f->out, ",\"profilingEndTime\":");
	jsonbuf__millis(f->out, (uint64_t)(f->end_ns - f->tracks.first_ns));
}

static void firefox_write_meta(struct firefox *f)
{
	const struct tracks *t = &f->tracks;
	struct recording_facts facts = { 0 };

	if (request__facts(&f->tracks.request, &facts) != 0 || facts.period_ns <= 0)
		facts.period_ns = 1000000;
	buf__printf(f->out,
		    "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,"
		    "\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		    "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		    "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
		    "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		    "\"threadCPUDelta\":\"ns\"},\"oscpu\":\"Linux\",\"platform\":\"Linux\","
		    "\"importedFrom\":"
		    "\"stacksexport " STACKS_VERSION "\",\"interval\":",
		    FORMAT_VERSION);
	jsonbuf__millis(f->out, (uint64_t)facts.period_ns);
	buf__str(f->out, ",\"startTime\":");
	jsonbuf__millis(f->out, t->first_ns > 0 ? (uint64_t)t->first_ns : 0);
	firefox_write_range(f);
	firefox_write_text(f->out, ",\"product\":", t->request.files.label);
	buf__printf(f->out, ",\"categories\":%s,\"markerSchema\":[", fox_categories);
	for (size_t i = 0; i < t->query_cnt; i++) {
		buf__str(f->out, i ? ",\n" : "\n");
		firefox_write_schema(f->out, &t->queries[i]);
	}
	buf__printf(f->out,
		    "],\"extra\":[{\"label\":\"Recording\",\"entries\":[{\"label\":\"lost events\","
		    "\"format\":\"integer\",\"value\":%" PRId64 "}]}]},\n"
		    "\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[",
		    t->lost);
}

/* Writes the collected thread. The first thread of a process is its main thread. */
static void firefox_end_thread(struct firefox *f)
{
	const struct thread_name *name = thread_names__find(&f->names, f->id);

	if (!fox_thread__is_empty(&f->thread)) {
		buf__str(f->out, f->thread_cnt++ ? ",\n" : "\n");
		fox_thread__write(&f->thread, f->out,
				  &(struct fox_thread_name){
					  .pid = f->id.pid,
					  .tid = f->id.tid,
					  .thread = name ? name->thread : "",
					  .process = name ? name->command : "",
				  });
	}
	f->thread.is_main = false;
	piecefile__flush(f->file);
}

static int firefox_take_row(const struct trace_rows *rows, idx_t row, void *firefox)
{
	struct firefox *f = firefox;
	const struct thread_id id = { (int32_t)trace_rows__number(rows, EVENT_PID, row),
				      (int32_t)trace_rows__number(rows, EVENT_TID, row) };
	bool is_first = !f->thread_cnt && fox_thread__is_empty(&f->thread);

	if (id.pid != f->id.pid || id.tid != f->id.tid || is_first) {
		firefox_end_thread(f);
		f->thread.is_main = is_first || id.pid != f->id.pid;
		f->id = id;
	}
	fox_thread__take(&f->thread, rows, row);
	return f->tables.err;
}

/* Returns 0 or -errno. */
static int firefox_write_profile(struct firefox *f)
{
	int err;

	f->out = piecefile__out(f->file);
	f->thread = (struct fox_thread){ .tables = &f->tables,
					 .queries = f->tracks.queries,
					 .first_ns = f->tracks.first_ns };
	firefox_write_meta(f);
	err = trace_rows__each(&f->tracks.request.db, "sql/tracks/by_thread.sql", firefox_take_row,
			       f);
	firefox_end_thread(f);
	buf__str(f->out, "],\n");
	fox_tables__write(&f->tables, f->file);
	buf__str(f->out, "}\n");
	err = err ? err : fox_thread__err(&f->thread);
	fox_thread__free(&f->thread);
	return err ? err : f->tables.err;
}

static int firefox_write_file(struct firefox *f, struct outfile *out, const char *output)
{
	int err = 0, closed;

	f->file = piecefile__open(out->tmp, piecefile__is_gz(output));
	if (!f->file) {
		log__error("cannot write the profile: %s", strerror(errno));
		return STATUS_FAILED;
	}
	err = firefox_write_profile(f);
	closed = piecefile__close(f->file);
	err = err ? err : closed;
	if (err)
		log__error("cannot write the profile: %s", strerror(-err));
	progress__end();
	if (err || outfile__commit(out) != 0)
		return STATUS_FAILED;
	if (out->path) {
		log__info("wrote %s", out->path);
		log__info("open it with: https://profiler.firefox.com (Load a profile from file; "
			  "it stays in your browser)");
	}
	return STATUS_OK;
}

/* Events may begin before the range, and the range before the first event. The profile's zero is
 * the earlier one. */
static int firefox_read_range(struct firefox *f)
{
	int64_t *const fields[] = { &f->begin_ns, &f->end_ns };
	int err = db__read_integers(&f->tracks.request.db, "sql/tracks/range.sql", fields, 2);

	if (f->begin_ns < f->tracks.first_ns)
		f->tracks.first_ns = f->begin_ns;
	return err;
}

static int firefox_run(struct firefox *f, const struct export_options *o, const char *output)
{
	const struct firefox_metric *metric = firefox_metric_find(o->metric);
	struct outfile out = { 0 };
	int status = tracks__open(&f->tracks, o, metric->queries);

	if (status == STATUS_OK && (fox_tables__init(&f->tables, f->tracks.frames) != 0 ||
				    thread_names__read(&f->names, &f->tracks.request.db) != 0 ||
				    firefox_read_range(f) != 0))
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = outfile__open(&out, output, NULL) == 0
				 ? firefox_write_file(f, &out, output)
				 : STATUS_FAILED;
	outfile__free(&out);
	fox_tables__free(&f->tables);
	thread_names__free(&f->names);
	tracks__close(&f->tracks);
	return status;
}

int firefox__run(const struct export_options *o)
{
	const char *output = o->output ? o->output : DEFAULT_FILE;
	struct firefox f = { .thread_cnt = 0 };

	if (!firefox_metric_find(o->metric))
		return export_options__wrong(o, "--metric '%s': expected wall, cpu or offcpu",
					     o->metric);
	if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o, "a profile is not for a terminal: give -o FILE");
	if (grouping__check_tracks(o) != STATUS_OK)
		return STATUS_USAGE;
	return firefox_run(&f, o, output);
}
