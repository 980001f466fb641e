// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/traceevents.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/jsonbuf.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/trace/tracerows.h"

/* One pass over the events. */
struct pass {
	const struct traceevents *t;
	struct traceevents_stats *stats;
	struct lanes *lanes;
	struct buf *out; /* of the event being written */
	const struct trace_rows *rows;
	bool first_arg;
};

/* How each event is written, by enum event_shape. */
static const struct shape {
	const char *phase; /* with the other fields that all events of this shape have */
	const char *kind;  /* the key of its kind; viewers identify counters by name and id */
	bool drawn;	   /* on a lane of its thread */
	bool lasts;
} shapes[] = {
	[SHAPE_COMPLETE] = { "\"ph\":\"X\"", "cat", true, true },
	[SHAPE_INSTANT] = { "\"ph\":\"i\",\"s\":\"t\"", "cat", true, false },
	[SHAPE_COUNTER] = { "\"ph\":\"C\"", "id", false, false },
};

static void traceevents_write_text(struct buf *out, const char *key, const struct cells *c,
				   idx_t row)
{
	size_t sz;
	const char *s = cells__str(c, row, &sz);

	if (!s)
		return;
	buf__str(out, ",\"");
	buf__str(out, key);
	buf__str(out, "\":");
	jsonbuf__str(out, s, sz);
}

static int64_t traceevents_number(const struct pass *p, enum event_column c, idx_t row)
{
	return trace_rows__number(p->rows, c, row);
}

static bool traceevents_find_stack(const struct pass *p, enum event_column c, idx_t row,
				   struct stacktree_stack *stack)
{
	uint64_t key;

	return trace_rows__key(p->rows, c, row, &key) && stacktree__find(p->t->stacks, key, stack);
}

/* Writes everything before an argument's value. */
static void traceevents_begin_arg(struct pass *p, const char *name)
{
	buf__str(p->out, p->first_arg ? "" : ",");
	jsonbuf__str(p->out, name, strlen(name));
	buf__str(p->out, ":");
	p->first_arg = false;
}

/* Perfetto shows arguments but not stack frames, so the stacks are arguments too. */
static const struct {
	enum event_column column;
	const char *arg, *frame;
} stack_columns[] = { { EVENT_STACK, "stack", "sf" }, { EVENT_END_STACK, "end_stack", "esf" } };

static const struct {
	enum event_column column;
	const char *arg;
} number_columns[] = { { EVENT_CPU, "cpu" }, { EVENT_AMOUNT, "amount" }, { EVENT_RATE, "rate" } };

static void traceevents_write_number_args(struct pass *p, idx_t row)
{
	for (size_t i = 0; i < sizeof(number_columns) / sizeof(number_columns[0]); i++) {
		if (cells__is_null(&p->rows->columns[number_columns[i].column], row))
			continue;
		traceevents_begin_arg(p, number_columns[i].arg);
		jsonbuf__int(p->out, traceevents_number(p, number_columns[i].column, row));
	}
}

/* Writes the query's own columns as texts. */
static void traceevents_write_other_args(struct pass *p, idx_t row)
{
	const struct tracequery *query = &p->t->queries[traceevents_number(p, EVENT_QUERY, row)];

	for (size_t i = 0; i < query->arg_cnt; i++) {
		size_t sz;
		const char *s = trace_rows__arg(p->rows, row, i, &sz);

		if (!s)
			continue;
		traceevents_begin_arg(p, query->args[i]);
		jsonbuf__str(p->out, s, sz);
	}
}

static void traceevents_write_stack_args(struct pass *p, idx_t row)
{
	struct stacktree_stack stack;

	for (size_t i = 0; i < sizeof(stack_columns) / sizeof(stack_columns[0]); i++) {
		if (!traceevents_find_stack(p, stack_columns[i].column, row, &stack))
			continue;
		traceevents_begin_arg(p, stack_columns[i].arg);
		buf__append(p->out, stack.names, stack.names_sz);
	}
}

static void traceevents_write_times(struct pass *p, const struct shape *shape, idx_t row)
{
	uint64_t begin_ns = (uint64_t)traceevents_number(p, EVENT_BEGIN, row);
	uint64_t end_ns = (uint64_t)traceevents_number(p, EVENT_END, row);

	buf__str(p->out, ",\"ts\":");
	jsonbuf__micros(p->out, begin_ns - (uint64_t)p->t->first_ns);
	if (shape->lasts) {
		buf__str(p->out, ",\"dur\":");
		jsonbuf__micros(p->out, end_ns - begin_ns);
	}
}

static void traceevents_write_frame(struct buf *out, const char *key, uint32_t leaf)
{
	buf__str(out, ",\"");
	buf__str(out, key);
	buf__str(out, "\":");
	jsonbuf__int(out, leaf);
}

static void traceevents_write(struct pass *p, const struct shape *shape, idx_t row, int64_t tid)
{
	struct stacktree_stack stack;

	p->out = tracefile__begin(p->t->file);
	buf__str(p->out, shape->phase);
	buf__str(p->out, ",\"pid\":");
	jsonbuf__int(p->out, traceevents_number(p, EVENT_PID, row));
	buf__str(p->out, ",\"tid\":");
	jsonbuf__int(p->out, tid);
	traceevents_write_times(p, shape, row);
	traceevents_write_text(p->out, "name", &p->rows->columns[EVENT_NAME], row);
	traceevents_write_text(p->out, shape->kind, &p->rows->columns[EVENT_KIND], row);
	for (size_t i = 0; i < sizeof(stack_columns) / sizeof(stack_columns[0]); i++)
		if (traceevents_find_stack(p, stack_columns[i].column, row, &stack))
			traceevents_write_frame(p->out, stack_columns[i].frame, stack.leaf);
	buf__str(p->out, ",\"args\":{");
	p->first_arg = true;
	traceevents_write_number_args(p, row);
	traceevents_write_other_args(p, row);
	traceevents_write_stack_args(p, row);
	buf__str(p->out, "}");
	tracefile__end(p->t->file);
	p->stats->events[traceevents_number(p, EVENT_QUERY, row)]++;
}

/* Places the event on a lane and writes it. */
static int traceevents_take_event(const struct trace_rows *rows, idx_t row, void *pass)
{
	struct pass *p = pass;
	const struct shape *shape = &shapes[trace_rows__shape(rows, row)];
	int64_t tid = trace_rows__number(rows, EVENT_TID, row);
	struct lanes_event e = {
		.query = (int32_t)trace_rows__number(rows, EVENT_QUERY, row),
		.pid = (int32_t)trace_rows__number(rows, EVENT_PID, row),
		.tid = (int32_t)tid,
		.begin_ns = trace_rows__number(rows, EVENT_BEGIN, row),
		.end_ns = trace_rows__number(rows, EVENT_END, row),
	};

	p->rows = rows;
	if (shape->drawn)
		tid = lanes__place(p->lanes, &e);
	if (tid == -E2BIG)
		p->stats->overlapping++;
	else if (tid < 0)
		return (int)tid;
	else
		traceevents_write(p, shape, row, tid);
	return 0;
}

/* One thread of sql/trace/threads.sql. */
struct traceevents_naming {
	struct pass *pass;
	int64_t pid, tid;
	const char *thread; /* its name; NULL: unknown */
	size_t thread_sz;
};

static void traceevents_write_name(const struct traceevents_naming *n, int64_t tid,
				   const char *what, const struct buf *name)
{
	struct tracefile *file = n->pass->t->file;
	struct buf *out = tracefile__begin(file);

	buf__printf(
		out,
		"\"ph\":\"M\",\"ts\":0,\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":",
		(int)n->pid, (int)tid, what);
	jsonbuf__str(out, (const char *)name->data, name->sz);
	buf__str(out, "}");
	tracefile__end(file);
}

/* Formats a lane's name: "worker" for the thread's own lane, "worker 4711: usdt_all (2)" for the
 * second one of a query. */
static void traceevents_name_lane(const struct lane *lane, void *arg)
{
	const struct traceevents_naming *n = arg;
	struct buf name = { 0 };

	if (n->thread)
		buf__append(&name, n->thread, n->thread_sz);
	if (lane->id != n->tid) {
		buf__printf(&name, "%s%d: %s", n->thread ? " " : "", (int)n->tid,
			    n->pass->t->queries[lane->query].name);
		if (lane->nth)
			buf__printf(&name, " (%d)", (int)lane->nth + 1);
	}
	if (name.sz)
		traceevents_write_name(n, lane->id, "thread_name", &name);
	buf__free(&name);
}

static void traceevents_name_process(const struct traceevents_naming *n,
				     const struct cells *command, idx_t row)
{
	struct buf name = { 0 };
	size_t sz;
	const char *s = cells__str(command, row, &sz);

	if (!s)
		return;
	buf__append(&name, s, sz);
	traceevents_write_name(n, n->pid, "process_name", &name);
	buf__free(&name);
}

static void traceevents_name_chunk(struct pass *p, duckdb_data_chunk chunk, int64_t *last_pid)
{
	struct cells pid = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct cells tid = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
	struct cells command = cells__on(duckdb_data_chunk_get_vector(chunk, 2));
	struct cells thread = cells__on(duckdb_data_chunk_get_vector(chunk, 3));

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		struct traceevents_naming n = { .pass = p,
						.pid = cells__int(&pid, row),
						.tid = cells__int(&tid, row) };

		n.thread = cells__str(&thread, row, &n.thread_sz);
		if (n.pid != *last_pid)
			traceevents_name_process(&n, &command, row);
		*last_pid = n.pid;
		lanes__each(p->lanes, (int32_t)n.pid, (int32_t)n.tid, traceevents_name_lane, &n);
	}
}

static int traceevents_write_names(struct pass *p, struct db *db)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int64_t last_pid = -1;
	int err = db__run_file(db, "sql/trace/threads.sql", &result);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		traceevents_name_chunk(p, chunk, &last_pid);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

int traceevents__write(const struct traceevents *t, struct db *db, struct traceevents_stats *stats)
{
	struct pass p = { .t = t, .stats = stats, .lanes = lanes__new() };
	int err = p.lanes ? trace_rows__each(db, "sql/trace/events.sql", traceevents_take_event, &p)
			  : -ENOMEM;

	if (!err)
		err = traceevents_write_names(&p, db);
	if (err == -ENOMEM)
		log__error("out of memory");
	lanes__free(p.lanes);
	return err;
}
