// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/tracks/foxthread.h"

#include <errno.h>
#include <string.h>

#include "base/jsonbuf.h"

/* The columns of samples and markers, in the order of struct fox_thread. */
enum { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_CPU };
enum { MARKER_NAME, MARKER_CATEGORY, MARKER_BEGIN, MARKER_END, MARKER_PHASE, MARKER_DATA };

static const char *const sample_columns[FOX_SAMPLE_COLUMNS] = { "stack", "time", "weight",
								"threadCPUDelta" };
static const char *const marker_columns[FOX_MARKER_COLUMNS] = { "name",	   "category", "startTime",
								"endTime", "phase",    "data" };

enum { PHASE_INSTANT, PHASE_INTERVAL };

bool fox_thread__is_empty(const struct fox_thread *t)
{
	return !t->sample_cnt && !t->marker_cnt;
}

static struct buf *foxthread_next_cell(struct buf *column, size_t cnt)
{
	if (cnt)
		buf__u8(column, ',');
	return column;
}

static uint64_t foxthread_since_first(const struct fox_thread *t, int64_t ns)
{
	return ns > t->first_ns ? (uint64_t)ns - (uint64_t)t->first_ns : 0;
}

/* A sample off the CPU gets a frame on top with the state. It is drawn in the colour of that. */
static uint32_t foxthread_sample_node(struct fox_thread *t, const struct trace_rows *rows,
				      idx_t row, bool on_cpu)
{
	uint32_t node = TRIE_ROOT;
	const char *name;
	uint64_t key;
	size_t sz;

	if (trace_rows__key(rows, EVENT_STACK, row, &key))
		node = fox_tables__stack(t->tables, key);
	if (on_cpu && node != TRIE_ROOT)
		return node;
	name = cells__str(&rows->columns[EVENT_NAME], row, &sz);
	if (on_cpu)
		return fox_tables__label(t->tables, node,
					 fox_tables__string(t->tables, "[no stack]", 10),
					 FOX_OTHER);
	return fox_tables__label(t->tables, node, fox_tables__string(t->tables, name, sz),
				 sz == 8 && memcmp(name, "runnable", sz) == 0 ? FOX_RUNNABLE
									      : FOX_BLOCKED);
}

static void foxthread_add_sample(struct fox_thread *t, uint32_t node, uint64_t time_ns,
				 uint64_t weight_ns, bool on_cpu)
{
	size_t cnt = t->sample_cnt++;

	fox_tables__append_row(foxthread_next_cell(&t->samples[SAMPLE_STACK], cnt), node);
	jsonbuf__millis(foxthread_next_cell(&t->samples[SAMPLE_TIME], cnt), time_ns);
	jsonbuf__millis(foxthread_next_cell(&t->samples[SAMPLE_WEIGHT], cnt), weight_ns);
	jsonbuf__int(foxthread_next_cell(&t->samples[SAMPLE_CPU], cnt),
		     on_cpu ? (int64_t)weight_ns : 0);
}

/* The profiler takes CPU time as that since the sample before, so the first sample, which has none,
 * is an empty one. */
static void foxthread_take_sample(struct fox_thread *t, const struct trace_rows *rows, idx_t row)
{
	int64_t weight_ns = trace_rows__number(rows, EVENT_AMOUNT, row);
	size_t sz;
	const char *kind = cells__str(&rows->columns[EVENT_KIND], row, &sz);
	bool on_cpu = sz == 7 && memcmp(kind, "profile", sz) == 0;
	uint64_t time_ns = foxthread_since_first(t, trace_rows__number(rows, EVENT_BEGIN, row));
	uint64_t spent_ns = weight_ns > 0 ? (uint64_t)weight_ns : 0;

	if (!t->sample_cnt)
		foxthread_add_sample(t, TRIE_ROOT,
				     on_cpu && time_ns > spent_ns ? time_ns - spent_ns : 0, 0,
				     false);
	foxthread_add_sample(t, foxthread_sample_node(t, rows, row, on_cpu), time_ns, spent_ns,
			     on_cpu);
}

static void foxthread_append_args(struct buf *out, const struct trace_rows *rows, idx_t row,
				  const struct tracequery *q)
{
	static const struct {
		enum event_column column;
		const char *key;
	} numbers[] = { { EVENT_CPU, "cpu" }, { EVENT_AMOUNT, "amount" }, { EVENT_RATE, "rate" } };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (cells__is_null(&rows->columns[numbers[i].column], row))
			continue;
		buf__printf(out, ",\"%s\":", numbers[i].key);
		jsonbuf__int(out, trace_rows__number(rows, numbers[i].column, row));
	}
	for (size_t i = 0; i < q->arg_cnt; i++) {
		size_t sz;
		const char *s = trace_rows__arg(rows, row, i, &sz);

		if (!s)
			continue;
		buf__str(out, ",");
		jsonbuf__str(out, q->args[i], strlen(q->args[i]));
		buf__str(out, ":");
		jsonbuf__str(out, s, sz);
	}
}

/* Appends the stack of a marker, which the profiler calls its cause. */
static void foxthread_append_cause(struct fox_thread *t, const struct trace_rows *rows, idx_t row,
				   struct buf *out)
{
	uint32_t node = TRIE_ROOT;
	uint64_t key;

	if (trace_rows__key(rows, EVENT_STACK, row, &key) ||
	    trace_rows__key(rows, EVENT_END_STACK, row, &key))
		node = fox_tables__stack(t->tables, key);
	if (node == TRIE_ROOT)
		return;
	buf__str(out, ",\"cause\":{\"time\":");
	jsonbuf__millis(out, foxthread_since_first(t, trace_rows__number(rows, EVENT_BEGIN, row)));
	buf__str(out, ",\"stack\":");
	fox_tables__append_row(out, node);
	buf__str(out, "}");
}

static void foxthread_append_data(struct fox_thread *t, const struct trace_rows *rows, idx_t row,
				  struct buf *out)
{
	const struct tracequery *q = &t->queries[trace_rows__number(rows, EVENT_QUERY, row)];

	buf__str(out, "{\"type\":");
	jsonbuf__str(out, q->name, strlen(q->name));
	foxthread_append_args(out, rows, row, q);
	foxthread_append_cause(t, rows, row, out);
	buf__str(out, "}");
}

static void foxthread_take_marker(struct fox_thread *t, const struct trace_rows *rows, idx_t row)
{
	bool lasts = trace_rows__shape(rows, row) == SHAPE_COMPLETE;
	size_t cnt = t->marker_cnt++, sz;
	const char *name = cells__str(&rows->columns[EVENT_NAME], row, &sz);

	jsonbuf__int(foxthread_next_cell(&t->markers[MARKER_NAME], cnt),
		     fox_tables__string(t->tables, name, sz));
	jsonbuf__int(foxthread_next_cell(&t->markers[MARKER_CATEGORY], cnt), FOX_OTHER);
	jsonbuf__millis(foxthread_next_cell(&t->markers[MARKER_BEGIN], cnt),
			foxthread_since_first(t, trace_rows__number(rows, EVENT_BEGIN, row)));
	foxthread_next_cell(&t->markers[MARKER_END], cnt);
	if (lasts)
		jsonbuf__millis(&t->markers[MARKER_END],
				foxthread_since_first(t, trace_rows__number(rows, EVENT_END, row)));
	else
		buf__str(&t->markers[MARKER_END], "null");
	jsonbuf__int(foxthread_next_cell(&t->markers[MARKER_PHASE], cnt),
		     lasts ? PHASE_INTERVAL : PHASE_INSTANT);
	foxthread_append_data(t, rows, row, foxthread_next_cell(&t->markers[MARKER_DATA], cnt));
}

void fox_thread__take(struct fox_thread *t, const struct trace_rows *rows, idx_t row)
{
	if (fox_thread__is_empty(t))
		t->begin_ns = (int64_t)foxthread_since_first(
			t, trace_rows__number(rows, EVENT_BEGIN, row));
	if (trace_rows__shape(rows, row) == SHAPE_SAMPLE)
		foxthread_take_sample(t, rows, row);
	else
		foxthread_take_marker(t, rows, row);
}

static void foxthread_append_columns(struct buf *out, const char *const *names, struct buf *columns,
				     size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		buf__printf(out, ",\n\"%s\":[", names[i]);
		buf__append(out, columns[i].data, columns[i].sz);
		buf__str(out, "]");
	}
	buf__str(out, "}");
}

void fox_thread__write(struct fox_thread *t, struct buf *out, const struct fox_thread_name *n)
{
	buf__str(out, "{\"name\":");
	jsonbuf__str(out, n->thread, strlen(n->thread));
	buf__str(out, ",\"processName\":");
	jsonbuf__str(out, n->process, strlen(n->process));
	buf__printf(out,
		    ",\"isMainThread\":%s,\"processType\":\"default\",\"pid\":\"%d\",\"tid\":%d,"
		    "\"processShutdownTime\":null,\"unregisterTime\":null,\"pausedRanges\":[],"
		    "\"showMarkersInTimeline\":true,\"processStartupTime\":0,\"registerTime\":",
		    t->is_main ? "true" : "false", n->pid, n->tid);
	jsonbuf__millis(out, (uint64_t)t->begin_ns);
	buf__printf(out, ",\n\"samples\":{\"weightType\":\"tracing-ms\",\"length\":%zu",
		    t->sample_cnt);
	foxthread_append_columns(out, sample_columns, t->samples, FOX_SAMPLE_COLUMNS);
	buf__printf(out, ",\n\"markers\":{\"length\":%zu", t->marker_cnt);
	foxthread_append_columns(out, marker_columns, t->markers, FOX_MARKER_COLUMNS);
	buf__str(out, "}");
	if (fox_thread__err(t))
		t->tables->err = -ENOMEM;
	for (size_t i = 0; i < FOX_SAMPLE_COLUMNS; i++)
		buf__reset(&t->samples[i]);
	for (size_t i = 0; i < FOX_MARKER_COLUMNS; i++)
		buf__reset(&t->markers[i]);
	t->sample_cnt = t->marker_cnt = 0;
}

int fox_thread__err(const struct fox_thread *t)
{
	int err = 0;

	for (size_t i = 0; i < FOX_SAMPLE_COLUMNS && !err; i++)
		err = buf__err(&t->samples[i]);
	for (size_t i = 0; i < FOX_MARKER_COLUMNS && !err; i++)
		err = buf__err(&t->markers[i]);
	return err;
}

void fox_thread__free(struct fox_thread *t)
{
	for (size_t i = 0; i < FOX_SAMPLE_COLUMNS; i++)
		buf__free(&t->samples[i]);
	for (size_t i = 0; i < FOX_MARKER_COLUMNS; i++)
		buf__free(&t->markers[i]);
}
