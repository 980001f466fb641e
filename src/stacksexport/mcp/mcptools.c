// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/mcp/mcptools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "stacksexport/mcp/boundedrun.h"
#include "stacksexport/mcp/foldedtop.h"
#include "stacksexport/mcp/recordinglist.h"

#define LIMIT_S	     60
#define TEXT_MAX     (100u << 10) /* bytes of an answer */
#define FOLDED_MAX   (64u << 20)  /* of all stacks, of which the largest are shown */
#define SQL_ROWS_MAX 1000
#define ARGS_MAX     32

enum arg_type { ARG_TEXT, ARG_NUMBER, ARG_FLAG };

/* An argument of a tool becomes --option=VALUE, so that no value is an option. */
struct tool_arg {
	const char *name, *option, *doc; /* option NULL: the tool handles it */
	enum arg_type type;
	bool required;
};

#define RECORDING                                                                      \
	{                                                                              \
		"recording", "register",                                               \
			"path of a recording, or of a folder of recordings (then the " \
			"newest in it); the default is the newest recording",          \
			ARG_TEXT, false                                                \
	}
#define SELECTION                                                                                  \
	{ "command", "command", "only this command (the name of a process, at most 15 bytes)",     \
	  ARG_TEXT, false },                                                                       \
		{ "pid", "pid", "only this process", ARG_NUMBER, false },                          \
		{ "tid", "tid", "only this thread", ARG_NUMBER, false },                           \
		{ "thread", "thread", "only threads with this name", ARG_TEXT, false },            \
		{ "span", "span", "only what happened in spans with this name", ARG_TEXT, false }, \
		{ "cgroup", "cgroup", "only this cgroup and those below it", ARG_TEXT, false },    \
	{                                                                                          \
		"host", "host", "only this host", ARG_TEXT, false                                  \
	}
#define RANGE                                                                          \
	{ "from", "from",                                                              \
	  "only from this time on: 10s after the start of the recording, -30s before " \
	  "its end, 2026-11-25T10:15:00, or seconds since 1970",                       \
	  ARG_TEXT, false },                                                           \
	{                                                                              \
		"to", "to", "only before this time", ARG_TEXT, false                   \
	}

static const struct tool_arg recordings_args[] = { { 0 } };
static const struct tool_arg part_args[] = { RECORDING, SELECTION, RANGE, { 0 } };
static const struct tool_arg top_args[] = {
	RECORDING,
	SELECTION,
	RANGE,
	{ "by", "by", "rows by command, process, thread, cgroup, container, unit, span or host",
	  ARG_TEXT, false },
	{ "sort", "sort", "order of functions: self or total", ARG_TEXT, false },
	{ "rows", "rows", "rows of each table (10)", ARG_NUMBER, false },
	{ "waiting", "waiting", "show where threads waited for work", ARG_FLAG, false },
	{ 0 },
};
static const struct tool_arg stacks_args[] = {
	RECORDING,
	SELECTION,
	RANGE,
	{ "query", NULL,
	  "which stacks: cpu_stacks (the default), offcpu_stacks, offcpu_blocked_stacks, "
	  "offcpu_runnable_stacks, wake_wakers, rss_ustacks_growth, blk_ustack_duration, "
	  "vfs_read_amount, vfs_write_amount, net_ustack_tcp_bandwidth, span_time, why_off_cpu",
	  ARG_TEXT, false },
	{ "rows", NULL, "how many stacks (20)", ARG_NUMBER, false },
	{ 0 },
};
static const struct tool_arg diff_args[] = {
	{ "a", NULL, "path of recording A; the default is the newest recording", ARG_TEXT, false },
	{ "b", NULL, "path of recording B; the default is A", ARG_TEXT, false },
	{ "before", "before", "time range of A, FROM..TO; an end may be empty", ARG_TEXT, false },
	{ "after", "after", "time range of B, FROM..TO", ARG_TEXT, false },
	{ "metric", "metric",
	  "cpu (the default), offcpu, wall, spans, rss, disk, files, net, faults or wakeups",
	  ARG_TEXT, false },
	{ "normalise", "normalise", "scale B to the time (the default) or the spans of A", ARG_TEXT,
	  false },
	{ "all", "all", "show changes that are not significant, too", ARG_FLAG, false },
	{ "by", "by",
	  "a table by command, process, thread, cgroup, container, unit, span or host, too",
	  ARG_TEXT, false },
	{ "sort", "sort", "order of rows: change (the default), a, b or p", ARG_TEXT, false },
	{ "rows", "rows", "rows of each table (10)", ARG_NUMBER, false },
	SELECTION,
	{ 0 },
};
static const struct tool_arg sql_args[] = {
	RECORDING,
	SELECTION,
	RANGE,
	{ "sql", NULL,
	  "one SELECT of DuckDB. Tables: events, stacktraces, stacks, offcpu, wakeups, rss, "
	  "span_waits; DESCRIBE is 'SELECT * FROM (DESCRIBE events)'",
	  ARG_TEXT, true },
	{ "rows", NULL, "at most this many rows (100; up to 1000)", ARG_NUMBER, false },
	{ 0 },
};

/* One call of a tool. */
struct tool_call {
	const struct tool *tool;
	const json_t *arguments;
	char *argv[ARGS_MAX]; /* owned */
	size_t argc;
	size_t rows; /* of stacks */
	char *error; /* [error_sz] */
	size_t error_sz;
	int err;
};

struct tool {
	const char *name, *doc;
	const struct tool_arg *args;
	const char *command[4];		/* arguments of this program; none: .append is run */
	int (*add)(struct tool_call *); /* adds arguments without an option; NULL: none */
	void (*shorten)(struct tool_call *, struct buf *); /* of the output; NULL: as it is */
	void (*append)(struct buf *);			   /* appends the answer */
};

/* ---- the command line ----------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void mcptools_call_add(struct tool_call *c,
								    const char *fmt, ...)
{
	va_list ap;

	if (c->argc + 1 >= ARGS_MAX || c->err)
		return;
	va_start(ap, fmt);
	if (vasprintf(&c->argv[c->argc], fmt, ap) < 0) {
		c->argv[c->argc] = NULL;
		c->err = -ENOMEM;
	} else {
		c->argc++;
	}
	va_end(ap);
}

static int mcptools_call_wrong(struct tool_call *c, const char *name, const char *what)
{
	snprintf(c->error, c->error_sz, "argument '%.40s': %s", name, what);
	return c->err = -EINVAL;
}

static const char *mcptools_text_of(const struct tool_call *c, const char *name)
{
	return json_string_value(json_object_get(c->arguments, name));
}

static size_t mcptools_number_of(const struct tool_call *c, const char *name, size_t otherwise)
{
	json_int_t n = json_integer_value(json_object_get(c->arguments, name));

	return n > 0 ? (size_t)n : otherwise;
}

static int mcptools_add_stacks(struct tool_call *c)
{
	const char *query = mcptools_text_of(c, "query");
	size_t sz;

	query = query ? query : "cpu_stacks";
	sz = strspn(query, "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (query[sz] && strcmp(query + sz, ".sql") != 0)
		return mcptools_call_wrong(c, "query", "the name of a shipped query is expected");
	mcptools_call_add(c, "sql/pprof/%.*s.sql", (int)sz, query);
	c->rows = mcptools_number_of(c, "rows", 20);
	return 0;
}

static int mcptools_add_diff(struct tool_call *c)
{
	const char *a = mcptools_text_of(c, "a"), *b = mcptools_text_of(c, "b");

	if (b && !a)
		return mcptools_call_wrong(c, "a", "it is needed with b");
	mcptools_call_add(c, "--");
	if (a)
		mcptools_call_add(c, "%s", a);
	if (b)
		mcptools_call_add(c, "%s", b);
	return 0;
}

/* A limit around the statement. `query --read-only` refuses a second statement. */
static int mcptools_add_sql(struct tool_call *c)
{
	const char *sql = mcptools_text_of(c, "sql");
	size_t rows = mcptools_number_of(c, "rows", 100), sz = strlen(sql);

	while (sz && strchr(" \t\r\n;", sql[sz - 1]))
		sz--;
	mcptools_call_add(c, "--");
	mcptools_call_add(c, "SELECT * FROM (%.*s\n) LIMIT %zu", (int)sz, sql,
			  rows < SQL_ROWS_MAX ? rows : SQL_ROWS_MAX);
	return 0;
}

static void mcptools_shorten_stacks(struct tool_call *c, struct buf *text)
{
	folded_top__keep(text, c->rows);
}

static const struct tool tools[] = {
	{ "recordings",
	  "Lists the recordings of the default folder, the newest last.",
	  recordings_args,
	  { NULL },
	  NULL,
	  NULL,
	  recording_list__append },
	{ "summary",
	  "What a recording has: its time range, kinds of events, commands and lost events.",
	  part_args,
	  { "query", "--read-only", "-f", "sql/mcp/summary.sql" },
	  NULL,
	  NULL,
	  NULL },
	{ "top",
	  "Where CPU time and off-CPU time went: tables of commands and functions, with where "
	  "threads wait.",
	  top_args,
	  { "top" },
	  NULL,
	  NULL,
	  NULL },
	{ "stacks",
	  "The heaviest stacks, one per line: functions from the outermost to the innermost, then "
	  "the value (nanoseconds, bytes or events).",
	  stacks_args,
	  { "folded" },
	  mcptools_add_stacks,
	  mcptools_shorten_stacks,
	  NULL },
	{ "diff",
	  "Which functions changed between two recordings or two time ranges of one, with interval "
	  "and p.",
	  diff_args,
	  { "diff" },
	  mcptools_add_diff,
	  NULL,
	  NULL },
	{ "sql",
	  "Runs one SELECT over a recording. It can only read this recording.",
	  sql_args,
	  { "query", "--read-only" },
	  mcptools_add_sql,
	  NULL,
	  NULL },
	{ "explain",
	  "The recording in one page: what ran, what it cost, where it waited and for whom, what "
	  "grew, what stands out, what the recording does not know, what to run next. Begin here.",
	  part_args,
	  { "explain" },
	  NULL,
	  NULL,
	  NULL },
};

#define TOOL_CNT (sizeof(tools) / sizeof(*tools))

/* Adds an argument that has an option. Sets the call's error if its type is wrong. */
static void mcptools_add_option(struct tool_call *c, const struct tool_arg *arg,
				const json_t *value)
{
	if (arg->type == ARG_TEXT && !json_is_string(value))
		mcptools_call_wrong(c, arg->name, "a string is expected");
	else if (arg->type == ARG_NUMBER && !json_is_integer(value))
		mcptools_call_wrong(c, arg->name, "an integer is expected");
	else if (arg->type == ARG_FLAG && !json_is_boolean(value))
		mcptools_call_wrong(c, arg->name, "a boolean is expected");
	else if (!arg->option)
		return;
	else if (arg->type == ARG_TEXT)
		mcptools_call_add(c, "--%s=%s", arg->option, json_string_value(value));
	else if (arg->type == ARG_NUMBER)
		mcptools_call_add(c, "--%s=%" JSON_INTEGER_FORMAT, arg->option,
				  json_integer_value(value));
	else if (json_is_true(value))
		mcptools_call_add(c, "--%s", arg->option);
}

static const struct tool_arg *mcptools_arg_find(const struct tool *t, const char *name)
{
	for (const struct tool_arg *arg = t->args; arg->name; arg++)
		if (strcmp(arg->name, name) == 0)
			return arg;
	return NULL;
}

static int mcptools_add_arguments(struct tool_call *c)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)c->arguments, name, value)
	{
		const struct tool_arg *arg = mcptools_arg_find(c->tool, name);

		if (!arg)
			return mcptools_call_wrong(c, name, "the tool has no such argument");
		if (!json_is_null(value))
			mcptools_add_option(c, arg, value);
		if (c->err)
			return c->err;
	}
	for (const struct tool_arg *arg = c->tool->args; arg->name; arg++)
		if (arg->required && !json_is_string(json_object_get(c->arguments, arg->name)))
			return mcptools_call_wrong(c, arg->name, "it is required");
	return c->tool->add ? c->tool->add(c) : 0;
}

/* ---- results -------------------------------------------------------------------------------- */

/* JSON holds valid UTF-8 only. */
static json_t *mcptools_new_text(const struct buf *text)
{
	struct buf clean = { 0 };
	json_t *item;

	utf8__sanitize(&clean, (const char *)text->data, text->sz);
	item = buf__err(&clean)
		       ? NULL
		       : json_stringn_nocheck(clean.sz ? (const char *)clean.data : "", clean.sz);
	buf__free(&clean);
	return json_pack("{s:s, s:o}", "type", "text", "text", item);
}

/* Cuts the text after its last whole line. */
static void mcptools_cut_lines(struct buf *text, size_t max)
{
	if (text->sz > max)
		text->sz = max;
	while (text->sz && text->data[text->sz - 1] != '\n')
		text->sz--;
}

static json_t *mcptools_new_result(struct tool_call *c, struct bounded_run *run)
{
	struct buf *out = &run->text[BOUNDED_OUT], *err = &run->text[BOUNDED_ERR];
	bool failed = run->timed_out || (run->status != 0 && !run->cut);
	json_t *content = json_array();

	if (c->tool->shorten && !run->cut)
		c->tool->shorten(c, out);
	if (out->sz > TEXT_MAX || run->cut) {
		mcptools_cut_lines(out, TEXT_MAX);
		buf__str(out, "(the rest is left out: ask for fewer rows, or select a part)\n");
	}
	if (run->timed_out)
		buf__printf(err, "stopped after %d s: select a shorter time or fewer programs\n",
			    LIMIT_S);
	if (!failed)
		json_array_append_new(content, mcptools_new_text(out));
	if (err->sz)
		json_array_append_new(content, mcptools_new_text(err));
	return json_pack("{s:o, s:b}", "content", content, "isError", failed);
}

static json_t *mcptools_call_run(struct tool_call *c)
{
	struct bounded_run run = { .limit_s = LIMIT_S,
				   .size_max = c->tool->shorten ? FOLDED_MAX : 2 * TEXT_MAX };
	json_t *result = NULL;
	int err = 0;

	if (c->tool->append)
		c->tool->append(&run.text[BOUNDED_OUT]);
	else
		err = bounded_run__go(&run, c->argv);

	if (err)
		snprintf(c->error, c->error_sz, "cannot start: %s", strerror(-err));
	else
		result = mcptools_new_result(c, &run);
	bounded_run__free(&run);
	return result;
}

json_t *mcp_tools__call(const char *name, const json_t *arguments, char *error, size_t sz)
{
	struct tool_call c = { .arguments = arguments, .error = error, .error_sz = sz };
	json_t *result = NULL;

	for (size_t i = 0; i < TOOL_CNT; i++)
		if (strcmp(tools[i].name, name) == 0)
			c.tool = &tools[i];
	snprintf(error, sz, c.tool ? "out of memory" : "there is no tool '%.40s'", name);
	if (!c.tool)
		return NULL;
	mcptools_call_add(&c, "stacksexport");
	for (size_t i = 0; i < 4 && c.tool->command[i]; i++)
		mcptools_call_add(&c, "%s", c.tool->command[i]);
	if (mcptools_add_arguments(&c) == 0 && !c.err)
		result = mcptools_call_run(&c);
	for (size_t i = 0; i < c.argc; i++)
		free(c.argv[i]);
	return result;
}

/* ---- tools/list ----------------------------------------------------------------------------- */

static json_t *mcptools_new_schema(const struct tool *t)
{
	static const char *const types[] = { "string", "integer", "boolean" };
	json_t *properties = json_object(), *required = json_array();

	for (const struct tool_arg *arg = t->args; arg->name; arg++) {
		json_object_set_new(
			properties, arg->name,
			json_pack("{s:s, s:s}", "type", types[arg->type], "description", arg->doc));
		if (arg->required)
			json_array_append_new(required, json_string(arg->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", 0);
}

json_t *mcp_tools__list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TOOL_CNT; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name",
						      tools[i].name, "description", tools[i].doc,
						      "inputSchema", mcptools_new_schema(&tools[i]),
						      "annotations", "readOnlyHint", 1,
						      "destructiveHint", 0, "openWorldHint", 0));
	return json_pack("{s:o}", "tools", list);
}
