// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport perfetto`: writes a recording as a native trace of Perfetto. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/outfile.h"
#include "stacksexport/progress.h"
#include "stacksexport/trace/lanes.h"
#include "stacksexport/trace/tracerows.h"
#include "stacksexport/tracks/packets.h"
#include "stacksexport/tracks/threadnames.h"
#include "stacksexport/tracks/tracks.h"

#define DEFAULT_FILE "perfetto.pftrace"

/* Values of the format. */
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { UNIT_BYTES = 3 };

/* The queries, and the names of the tracks on which their events are drawn. */
static const struct {
	const char *path, *track;
} queries[] = {
	{ "sql/traceview/switch_with_stacks.sql", "on and off the CPU" },
	{ "sql/traceview/usdt_all.sql", "spans" },
	{ "sql/traceview/vfs_all.sql", "files" },
	{ "sql/traceview/blk_all.sql", "disks" },
	{ "sql/traceview/net_all.sql", "network" },
	{ "sql/traceview/tcp_all.sql", "connections" },
	{ "sql/traceview/exec_all.sql", "processes" },
	{ "sql/traceview/rss_counter.sql", "memory" },
	{ "sql/tracks/samples.sql", "samples" },
};

#define QUERY_CNT (sizeof(queries) / sizeof(queries[0]))
_Static_assert(QUERY_CNT <= TRACKS_QUERY_MAX, "room for all");

struct perfetto {
	struct tracks tracks;
	struct thread_names names;
	struct packets packets;
	struct lanes *lanes;
	struct keymap described; /* (uuid, 0) of tracks that are in the file */
	struct keymap counters;	 /* (process, name) */
	size_t overlapping;	 /* events without a free lane */
};

static const char *perfetto_track_name(const struct tracequery *q)
{
	for (size_t i = 0; i < QUERY_CNT; i++)
		if (strcmp(queries[i].path, q->path) == 0)
			return queries[i].track;
	return q->name;
}

/* ---- tracks --------------------------------------------------------------------------------- */

/* Lanes have ids that no thread has, so these are unique. */
static uint64_t perfetto_thread_uuid(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static uint64_t perfetto_process_uuid(int32_t pid)
{
	return perfetto_thread_uuid(pid, -1);
}

static uint64_t perfetto_counter_uuid(uint32_t index)
{
	return 1ull << 63 | index;
}

static void perfetto_describe(struct perfetto *f, Stacks__Perfetto__TrackDescriptor *track,
			      uint64_t uuid)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	packet.track_descriptor = track;
	packets__write(&f->packets, &packet);
}

static void perfetto_describe_process(struct perfetto *f, const struct thread_name *n)
{
	Stacks__Perfetto__TrackDescriptor track = STACKS__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Stacks__Perfetto__ProcessDescriptor process = STACKS__PERFETTO__PROCESS_DESCRIPTOR__INIT;

	process.has_pid = true;
	process.pid = n->id.pid;
	if (*n->command)
		process.process_name = packets__clean(&f->packets, n->command, strlen(n->command));
	track.process = &process;
	perfetto_describe(f, &track, perfetto_process_uuid(n->id.pid));
}

static void perfetto_describe_thread(struct perfetto *f, const struct thread_name *n)
{
	Stacks__Perfetto__TrackDescriptor track = STACKS__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Stacks__Perfetto__ThreadDescriptor thread = STACKS__PERFETTO__THREAD_DESCRIPTOR__INIT;

	thread.has_pid = thread.has_tid = track.has_parent_uuid = true;
	thread.pid = n->id.pid;
	thread.tid = n->id.tid;
	if (*n->thread)
		thread.thread_name = packets__clean(&f->packets, n->thread, strlen(n->thread));
	track.thread = &thread;
	track.parent_uuid = perfetto_process_uuid(n->id.pid);
	perfetto_describe(f, &track, perfetto_thread_uuid(n->id.pid, n->id.tid));
}

static void perfetto_describe_all(struct perfetto *f)
{
	struct thread_name *n, *next;
	int32_t last = -1;

	HASH_ITER (hh, f->names.names, n, next) {
		if (n->id.pid != last)
			perfetto_describe_process(f, n);
		last = n->id.pid;
		perfetto_describe_thread(f, n);
	}
}

/* Describes a lane when it has its first event. Viewers draw lanes of one name as one track. */
static void perfetto_describe_lane(struct perfetto *f, const struct lanes_event *e, int32_t lane)
{
	Stacks__Perfetto__TrackDescriptor track = STACKS__PERFETTO__TRACK_DESCRIPTOR__INIT;
	uint64_t uuid = perfetto_thread_uuid(e->pid, lane);
	bool is_new;

	if (lane == e->tid)
		return;
	if (keymap__add(&f->described, uuid, 0, &is_new) == KEYMAP_NONE)
		f->packets.err = -ENOMEM;
	else if (is_new) {
		track.has_parent_uuid = true;
		track.parent_uuid = perfetto_thread_uuid(e->pid, e->tid);
		track.name = (char *)perfetto_track_name(&f->tracks.queries[e->query]);
		perfetto_describe(f, &track, uuid);
	}
}

static uint64_t perfetto_counter_track(struct perfetto *f, const struct trace_rows *rows, idx_t row)
{
	Stacks__Perfetto__TrackDescriptor track = STACKS__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Stacks__Perfetto__CounterDescriptor counter = STACKS__PERFETTO__COUNTER_DESCRIPTOR__INIT;
	int32_t pid = (int32_t)trace_rows__number(rows, EVENT_PID, row);
	size_t sz;
	const char *name = cells__str(&rows->columns[EVENT_NAME], row, &sz);
	bool is_new;
	uint32_t index =
		keymap__add(&f->counters, (uint32_t)pid,
			    packets__text(&f->packets, &f->packets.names, name, sz), &is_new);

	if (index == KEYMAP_NONE) {
		f->packets.err = -ENOMEM;
	} else if (is_new) {
		counter.has_unit = track.has_parent_uuid = true;
		counter.unit = UNIT_BYTES;
		track.counter = &counter;
		track.parent_uuid = perfetto_process_uuid(pid);
		track.name = packets__clean(&f->packets, name, sz);
		perfetto_describe(f, &track, perfetto_counter_uuid(index));
	}
	return perfetto_counter_uuid(index);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Arguments of one event. */
#define ANNOTATION_MAX 64

struct annotations {
	Stacks__Perfetto__DebugAnnotation list[ANNOTATION_MAX], *of_event[ANNOTATION_MAX];
	size_t cnt;
	struct buf texts; /* of the values */
};

static Stacks__Perfetto__DebugAnnotation *annotation_add(struct perfetto *f, struct annotations *a,
							 const char *key)
{
	Stacks__Perfetto__DebugAnnotation *d = &a->list[a->cnt];

	stacks__perfetto__debug_annotation__init(d);
	d->has_name_iid = true;
	d->name_iid = packets__text(&f->packets, &f->packets.keys, key, strlen(key));
	a->of_event[a->cnt++] = d;
	return d;
}

static void perfetto_annotate_numbers(struct perfetto *f, struct annotations *a,
				      const struct trace_rows *rows, idx_t row)
{
	static const struct {
		enum event_column column;
		const char *key;
	} numbers[] = { { EVENT_CPU, "cpu" }, { EVENT_AMOUNT, "amount" }, { EVENT_RATE, "rate" } };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		Stacks__Perfetto__DebugAnnotation *d;

		if (cells__is_null(&rows->columns[numbers[i].column], row))
			continue;
		d = annotation_add(f, a, numbers[i].key);
		d->has_int_value = true;
		d->int_value = trace_rows__number(rows, numbers[i].column, row);
	}
}

static void perfetto_annotate_stacks(struct perfetto *f, struct annotations *a,
				     const struct trace_rows *rows, idx_t row)
{
	static const struct {
		enum event_column column;
		const char *key;
	} stacks[] = { { EVENT_STACK, "stack" }, { EVENT_END_STACK, "end_stack" } };
	uint64_t key;

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		Stacks__Perfetto__DebugAnnotation *d;

		if (!trace_rows__key(rows, stacks[i].column, row, &key) ||
		    !packets__stack(&f->packets, key))
			continue;
		d = annotation_add(f, a, stacks[i].key);
		d->has_string_value_iid = true;
		d->string_value_iid = packets__stack(&f->packets, key);
	}
}

/* Values are copied, one behind the other, before any of them is pointed to. */
static void perfetto_annotate_args(struct perfetto *f, struct annotations *a,
				   const struct trace_rows *rows, idx_t row)
{
	const struct tracequery *q = &f->tracks.queries[trace_rows__number(rows, EVENT_QUERY, row)];
	size_t first = a->cnt, at = 0;

	for (size_t i = 0; i < q->arg_cnt && a->cnt < ANNOTATION_MAX; i++) {
		size_t sz;
		const char *s = trace_rows__arg(rows, row, i, &sz);

		if (!s)
			continue;
		annotation_add(f, a, q->args[i]);
		s = packets__clean(&f->packets, s, sz);
		buf__append(&a->texts, s, strlen(s) + 1);
	}
	for (size_t i = first; i < a->cnt && !buf__err(&a->texts); i++) {
		a->list[i].string_value = (char *)a->texts.data + at;
		at += strlen(a->list[i].string_value) + 1;
	}
}

static void perfetto_write_event(struct perfetto *f, Stacks__Perfetto__TrackEvent *event,
				 uint64_t uuid, int64_t ns)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;

	event->has_type = event->has_track_uuid = packet.has_timestamp = true;
	event->track_uuid = uuid;
	packet.timestamp = (uint64_t)ns;
	packet.track_event = event;
	packets__write(&f->packets, &packet);
}

static void perfetto_write_slice(struct perfetto *f, const struct trace_rows *rows, idx_t row,
				 uint64_t uuid)
{
	bool lasts = trace_rows__shape(rows, row) == SHAPE_COMPLETE;
	Stacks__Perfetto__TrackEvent event = STACKS__PERFETTO__TRACK_EVENT__INIT;
	struct annotations a = { .cnt = 0 };
	uint64_t kind_iid;
	size_t sz;
	const char *name = cells__str(&rows->columns[EVENT_NAME], row, &sz), *kind;

	event.has_name_iid = true;
	event.name_iid = packets__text(&f->packets, &f->packets.names, name, sz);
	kind = cells__str(&rows->columns[EVENT_KIND], row, &sz);
	kind_iid = packets__text(&f->packets, &f->packets.categories, kind, sz);
	event.n_category_iids = kind_iid ? 1 : 0;
	event.category_iids = &kind_iid;
	perfetto_annotate_numbers(f, &a, rows, row);
	perfetto_annotate_stacks(f, &a, rows, row);
	perfetto_annotate_args(f, &a, rows, row);
	event.n_debug_annotations = a.cnt;
	event.debug_annotations = a.of_event;
	event.type = lasts ? TYPE_BEGIN : TYPE_INSTANT;
	perfetto_write_event(f, &event, uuid, trace_rows__number(rows, EVENT_BEGIN, row));
	if (buf__err(&a.texts))
		f->packets.err = -ENOMEM;
	buf__free(&a.texts);
	if (lasts) {
		stacks__perfetto__track_event__init(&event);
		event.type = TYPE_END;
		perfetto_write_event(f, &event, uuid, trace_rows__number(rows, EVENT_END, row));
	}
}

static void perfetto_write_counter(struct perfetto *f, const struct trace_rows *rows, idx_t row)
{
	Stacks__Perfetto__TrackEvent event = STACKS__PERFETTO__TRACK_EVENT__INIT;

	event.type = TYPE_COUNTER;
	event.has_counter_value = true;
	event.counter_value = trace_rows__number(rows, EVENT_AMOUNT, row);
	perfetto_write_event(f, &event, perfetto_counter_track(f, rows, row),
			     trace_rows__number(rows, EVENT_BEGIN, row));
}

static void perfetto_write_sample(struct perfetto *f, const struct trace_rows *rows, idx_t row)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;
	Stacks__Perfetto__PerfSample sample = STACKS__PERFETTO__PERF_SAMPLE__INIT;
	uint64_t key;

	sample.has_cpu = sample.has_pid = sample.has_tid = packet.has_timestamp = true;
	sample.cpu = (uint32_t)trace_rows__number(rows, EVENT_CPU, row);
	sample.pid = (uint32_t)trace_rows__number(rows, EVENT_PID, row);
	sample.tid = (uint32_t)trace_rows__number(rows, EVENT_TID, row);
	if (trace_rows__key(rows, EVENT_STACK, row, &key))
		sample.callstack_iid = packets__stack(&f->packets, key);
	sample.has_callstack_iid = sample.callstack_iid != 0;
	packet.timestamp = (uint64_t)trace_rows__number(rows, EVENT_BEGIN, row);
	packet.perf_sample = &sample;
	packets__write(&f->packets, &packet);
}

static int perfetto_draw_slice(struct perfetto *f, const struct trace_rows *rows, idx_t row)
{
	struct lanes_event e = {
		.query = (int32_t)trace_rows__number(rows, EVENT_QUERY, row),
		.pid = (int32_t)trace_rows__number(rows, EVENT_PID, row),
		.tid = (int32_t)trace_rows__number(rows, EVENT_TID, row),
		.begin_ns = trace_rows__number(rows, EVENT_BEGIN, row),
		.end_ns = trace_rows__number(rows, EVENT_END, row),
	};
	int32_t lane = lanes__place(f->lanes, &e);

	if (lane == -E2BIG)
		f->overlapping++;
	if (lane < 0)
		return lane == -E2BIG ? 0 : lane;
	perfetto_describe_lane(f, &e, lane);
	perfetto_write_slice(f, rows, row, perfetto_thread_uuid(e.pid, lane));
	return 0;
}

static int perfetto_take_row(const struct trace_rows *rows, idx_t row, void *perfetto)
{
	struct perfetto *f = perfetto;
	int err = 0;

	switch (trace_rows__shape(rows, row)) {
	case SHAPE_COMPLETE:
	case SHAPE_INSTANT: err = perfetto_draw_slice(f, rows, row); break;
	case SHAPE_COUNTER: perfetto_write_counter(f, rows, row); break;
	case SHAPE_SAMPLE: perfetto_write_sample(f, rows, row); break;
	}
	return err ? err : f->packets.err;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Returns 0 or -errno. */
static int perfetto_write_trace(struct perfetto *f, struct piecefile *file)
{
	struct recording_facts facts = { 0 };
	int err = packets__init(&f->packets, file);

	if (!err)
		err = request__facts(&f->tracks.request, &facts);
	if (!err && !(f->lanes = lanes__new()))
		err = -ENOMEM;
	if (!err) {
		packets__begin(&f->packets, f->tracks.first_ns, facts.period_ns);
		packets__stacks(&f->packets, f->tracks.frames);
		perfetto_describe_all(f);
		err = trace_rows__each(&f->tracks.request.db, "sql/trace/events.sql",
				       perfetto_take_row, f);
	}
	err = err ? err : f->packets.err;
	lanes__free(f->lanes);
	keymap__free(&f->described);
	keymap__free(&f->counters);
	packets__free(&f->packets);
	return err;
}

static int perfetto_write_file(struct perfetto *f, struct outfile *out, const char *output)
{
	struct piecefile *file = piecefile__open(out->tmp, piecefile__is_gz(output));
	int err = file ? perfetto_write_trace(f, file) : -errno;
	int closed = file ? piecefile__close(file) : 0;

	err = err ? err : closed;
	progress__end();
	if (err)
		log__error("cannot write the trace: %s", strerror(-err));
	if (err || outfile__commit(out) != 0)
		return STATUS_FAILED;
	if (f->overlapping)
		log__warn("%zu events left out: more than %d overlap on one thread", f->overlapping,
			  LANES_MAX);
	if (out->path) {
		log__info("wrote %s", out->path);
		log__info("open it with: https://ui.perfetto.dev (Open trace file; it stays in "
			  "your browser)");
	}
	return STATUS_OK;
}

static int perfetto_run(struct perfetto *f, const struct export_options *o, const char *output)
{
	const char *paths[QUERY_CNT + 1] = { NULL };
	struct outfile out = { 0 };
	int status;

	for (size_t i = 0; i < QUERY_CNT; i++)
		paths[i] = queries[i].path;
	status = tracks__open(&f->tracks, o, paths);
	if (status == STATUS_OK && thread_names__read(&f->names, &f->tracks.request.db) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK)
		status = outfile__open(&out, output, NULL) == 0
				 ? perfetto_write_file(f, &out, output)
				 : STATUS_FAILED;
	outfile__free(&out);
	thread_names__free(&f->names);
	tracks__close(&f->tracks);
	return status;
}

int perfetto__run(const struct export_options *o)
{
	const char *output = o->output ? o->output : DEFAULT_FILE;
	struct perfetto f = { .overlapping = 0 };

	if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
		return export_options__wrong(o, "a trace is not for a terminal: give -o FILE");
	if (grouping__check_tracks(o) != STATUS_OK)
		return STATUS_USAGE;
	return perfetto_run(&f, o, output);
}
