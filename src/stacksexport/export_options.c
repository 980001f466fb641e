// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/export_options.h"

#include <argp.h>
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/completion.h"
#include "base/log.h"
#include "base/parse.h"

/* Keys of options without a letter. */
enum {
	KEY_OUTPUT = 0x100,
	KEY_FORMAT,
	KEY_INTERPRETER,
	KEY_COMPLETION,
	KEY_FROM,
	KEY_TO,
	KEY_PID,
	KEY_TID,
	KEY_THREAD,
	KEY_SPAN,
	KEY_KIND,
	KEY_CGROUP,
	KEY_HOST,
	KEY_SVG,
	KEY_SORT,
	KEY_BY,
	KEY_WAITING,
	KEY_METRIC,
	KEY_NORMALISE,
	KEY_ALL,
	KEY_FAIL_IF,
	KEY_BEFORE,
	KEY_AFTER,
	KEY_READ_ONLY,
	KEY_FOLLOW,
	KEY_REMOVE,
	KEY_EVERY,
	KEY_MAX_SPOOL,
};

/* Where an option's argument goes. */
enum field_kind { FIELD_STRING, FIELD_FLAG, FIELD_NUMBER, FIELD_RECORDING };

struct option_row {
	uint64_t bit; /* enum export_option */
	enum field_kind kind;
	size_t field; /* offset in struct export_options */
	struct argp_option argp;
};

#define FIELD(kind, name) FIELD_##kind, offsetof(struct export_options, name)

static const struct option_row rows[] = {
	{ OPTION_RECORDING,
	  FIELD(RECORDING, recordings),
	  { "register", 'r', "RECORDING", 0,
	    "a recording's folder, a folder of recordings (the one with the highest number is "
	    "read), a file of a recording, a fleet folder, or a glob; may be repeated; default: "
	    "the newest in $STACKS_DIR, else in /var/lib/stacks",
	    0 } },
	{ OPTION_COMM,
	  FIELD(STRING, comm),
	  { "command", 'c', "COMM", 0,
	    "only events of this command; in a query with ?command, what that stands for", 0 } },
	{ OPTION_BINARY,
	  FIELD(STRING, binary),
	  { "binary", 'b', "ELF", 0,
	    "a program: its build ID is the value of ?buildid in the query; its debug information "
	    "gives source lines",
	    0 } },
	{ OPTION_FROM,
	  FIELD(STRING, from),
	  { "from", KEY_FROM, "TIME", 0,
	    "only what is not before TIME: 10s after the start of the recording, -30s before its "
	    "end, 2026-11-25T10:15:00, or seconds since 1970",
	    0 } },
	{ OPTION_TO,
	  FIELD(STRING, to),
	  { "to", KEY_TO, "TIME", 0, "only what is before TIME; of waits the part in the range",
	    0 } },
	{ OPTION_PID, FIELD(STRING, pid), { "pid", KEY_PID, "PID", 0, "only this process", 0 } },
	{ OPTION_TID,
	  FIELD(STRING, tid),
	  { "tid", KEY_TID, "TID", 0, "only the thread with this number", 0 } },
	{ OPTION_THREAD,
	  FIELD(STRING, thread),
	  { "thread", KEY_THREAD, "NAME", 0, "only threads with this name", 0 } },
	{ OPTION_SPAN,
	  FIELD(STRING, span),
	  { "span", KEY_SPAN, "SPAN", 0, "only what happened in spans with this name or number",
	    0 } },
	{ OPTION_KIND,
	  FIELD(STRING, kind),
	  { "kind", KEY_KIND, "KIND", 0, "only events of this kind", 0 } },
	{ OPTION_CGROUP,
	  FIELD(STRING, cgroup),
	  { "cgroup", KEY_CGROUP, "PATH", 0, "only this cgroup and those below it", 0 } },
	{ OPTION_HOST, FIELD(STRING, host), { "host", KEY_HOST, "HOST", 0, "only this host", 0 } },
	{ OPTION_INLINES,
	  FIELD(FLAG, inlines),
	  { "inlined", 'i', NULL, 0, "show inlined functions if there is debug information", 0 } },
	{ OPTION_INTERPRETER,
	  FIELD(FLAG, interpreter),
	  { "interpreter", KEY_INTERPRETER, NULL, 0,
	    "show the native frames of interpreters, too, around the functions that they run",
	    0 } },
	{ OPTION_OFFSETS,
	  FIELD(FLAG, offsets),
	  { "offset", 'o', NULL, 0,
	    "append -OFFSET (hexadecimal) to function names, so that a graph has no cycles", 0 } },
	{ OPTION_DIR,
	  FIELD(STRING, dir),
	  { "directory", 'd', "DIR", 0,
	    "write pprof-N.pb.gz or traceview-N.json in DIR, with the next free N; default: "
	    "~/stacks_export_data; merge: the fleet folder",
	    0 } },
	{ OPTION_OUTPUT,
	  FIELD(STRING, output),
	  { "output", KEY_OUTPUT, "FILE", 0, "write this file; - is the standard output", 0 } },
	{ OPTION_NO_OPEN,
	  FIELD(FLAG, no_open),
	  { "no-open", 'n', NULL, 0, "do not open google/pprof or a browser", 0 } },
	{ OPTION_FORMAT,
	  FIELD(STRING, format),
	  { "format", KEY_FORMAT, "FORMAT", 0, "table (the default), csv, json or parquet", 0 } },
	{ OPTION_FILE,
	  FIELD(STRING, file),
	  { "file", 'f', "FILE", 0, "read the query from a file", 0 } },
	{ OPTION_SVG,
	  FIELD(STRING, svg),
	  { "svg", KEY_SVG, "FILE", 0, "write a flame graph as a picture, too", 0 } },
	{ OPTION_SORT,
	  FIELD(STRING, sort),
	  { "sort", KEY_SORT, "BY", 0,
	    "order of rows. top, live, view, report: functions by self time (the default) or "
	    "total time; diff: by change (the default), a, b or p; query: by this column, numbers "
	    "with the largest first; folded: by value, the largest first",
	    0 } },
	{ OPTION_BY,
	  FIELD(STRING, by),
	  { "by", KEY_BY, "WHAT", 0,
	    "rows by command (the default of top), process, thread, cgroup, container, unit, "
	    "span or host; in profiles and pages, these are at the root of the stacks, in "
	    "timelines at the begin of the processes' names, in queries group_of() is",
	    0 } },
	{ OPTION_WAITING,
	  FIELD(FLAG, waiting),
	  { "waiting", KEY_WAITING, NULL, 0, "show where threads waited for work", 0 } },
	{ OPTION_METRIC,
	  FIELD(STRING, metric),
	  { "metric", KEY_METRIC, "METRIC", 0,
	    "diff: compare cpu (the default), offcpu, wall, spans, rss, disk, files, net, faults "
	    "or wakeups; firefox: samples of wall (the default), cpu or offcpu",
	    0 } },
	{ OPTIONS_RANGES,
	  FIELD(STRING, before),
	  { "before", KEY_BEFORE, "FROM..TO", 0,
	    "the time range of A; each end has the forms of --from, or is empty", 0 } },
	{ OPTIONS_RANGES,
	  FIELD(STRING, after),
	  { "after", KEY_AFTER, "FROM..TO", 0, "the time range of B", 0 } },
	{ OPTION_NORMALISE,
	  FIELD(STRING, normalise),
	  { "normalise", KEY_NORMALISE, "BY", 0,
	    "scale B to the time (the default) or to the number of spans of A", 0 } },
	{ OPTION_ALL,
	  FIELD(FLAG, all),
	  { "all", KEY_ALL, NULL, 0, "show changes that are not significant, too", 0 } },
	{ OPTION_FAIL_IF,
	  FIELD(STRING, fail_if),
	  { "fail-if", KEY_FAIL_IF, "LIMIT", 0,
	    "end with exit status 3 if a significant change is larger: 'self > 5%', 'total > 5%' "
	    "or 'all > 5%', in percent of all of A",
	    0 } },
	{ OPTION_READ_ONLY,
	  FIELD(FLAG, read_only),
	  { "read-only", KEY_READ_ONLY, NULL, 0,
	    "take one statement, which can read this recording and nothing else", 0 } },
	{ OPTION_FOLLOW,
	  FIELD(FLAG, follow),
	  { "follow", KEY_FOLLOW, NULL, 0,
	    "go on until SIGINT or SIGTERM: merge new batches, or send new files, as they come",
	    0 } },
	{ OPTION_EVERY,
	  FIELD(STRING, every),
	  { "every", KEY_EVERY, "TIME", 0,
	    "with --follow: merge when a batch is this old, or 128 MB are there; default: 10m",
	    0 } },
	{ OPTION_MAX_SPOOL,
	  FIELD(STRING, max_spool),
	  { "max-spool", KEY_MAX_SPOOL, "SIZE", 0,
	    "with --follow: when more than this waits to be sent, remove the oldest events", 0 } },
	{ OPTION_REMOVE,
	  FIELD(FLAG, remove),
	  { "remove", KEY_REMOVE, NULL, 0,
	    "merge: remove batches of recordings when all of their rows are on disk in DIR; push: "
	    "remove files that were sent",
	    0 } },
	{ OPTION_SOURCES,
	  FIELD(STRING, sources),
	  { "programs", 'p', "PROGRAMS", 0,
	    "live: what the collector that it starts records, as its -p, but profile and switch "
	    "have "
	    "user and kernel stacks (uk) unless you choose; default: profile,switch",
	    0 } },
	{ OPTION_ROWS,
	  FIELD(NUMBER, rows),
	  { "rows", 'N', "N", 0, "rows of each table; default: 10", 0 } },
};

#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

static const struct argp_option general[] = {
	{ "help", 'h', NULL, 0, "print this list", -1 },
	{ "usage", '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1 },
	{ "version", 'v', NULL, 0, "print the version", -1 },
	{ NULL, 'V', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1 },
	{ "completion", KEY_COMPLETION, "SHELL", OPTION_HIDDEN,
	  "print the completion file for bash, zsh or fish", -1 },
};

#define GENERAL_CNT (sizeof(general) / sizeof(general[0]))

/* The state of one parse. */
struct export_options_parse {
	struct export_options *options;
	const struct subcommand *subcommands;
	const char *first; /* argument, before argp reorders them; NULL: none */
	bool help, version;
};

/* The rows that `accepts` has, then the general ones; `out` has room for all and a last empty one.
 */
static void export_options_make_argp(uint64_t accepts, struct argp_option *out)
{
	for (size_t i = 0; i < ROW_CNT; i++)
		if (rows[i].bit & accepts)
			*out++ = rows[i].argp;
	for (size_t i = 0; i < GENERAL_CNT; i++)
		*out++ = general[i];
	*out = (struct argp_option){ 0 };
}

/* NULL, or what is wrong with it. */
static const char *option__set(struct export_options *o, const struct option_row *row,
			       const char *arg)
{
	void *field = (char *)o + row->field;
	bool again = row->kind == FIELD_STRING && *(const char **)field;
	uint64_t n;

	o->given |= row->bit;
	switch (row->kind) {
	case FIELD_STRING: *(const char **)field = arg; return again ? "it is given twice" : NULL;
	case FIELD_FLAG: *(bool *)field = true; return NULL;
	case FIELD_NUMBER:
		if (parse__u64(arg, &n) != 0 || n == 0 || n > INT32_MAX)
			return "not a number above 0";
		*(size_t *)field = n;
		return NULL;
	case FIELD_RECORDING:
		if (o->recording_cnt == EXPORT_ARGUMENTS_MAX)
			return "too many; use a glob to name more";
		o->recordings[o->recording_cnt++] = arg;
		return NULL;
	}
	return NULL;
}

static const struct subcommand *subcommand__find(const struct subcommand *s, const char *name)
{
	for (; s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

/* Takes the arguments as those of -r where that is what they are. */
static bool export_options_take_recordings(struct export_options *o, int *status)
{
	for (size_t i = 0; o->subcommand->of_recordings && i < o->argument_cnt; i++) {
		if (o->recording_cnt == EXPORT_ARGUMENTS_MAX) {
			*status = export_options__wrong(o, "too many recordings");
			return false;
		}
		o->recordings[o->recording_cnt++] = o->arguments[i];
	}
	return true;
}

static error_t export_options_positional(struct export_options_parse *p, const char *arg,
					 struct argp_state *state)
{
	struct export_options *o = p->options;

	if (!o->subcommand) {
		o->subcommand = subcommand__find(p->subcommands, arg);
		if (!o->subcommand)
			argp_error(state, "unknown command '%s'", arg);
		return 0;
	}
	if (o->argument_cnt == o->subcommand->argument_max)
		argp_error(state, "unexpected argument '%s': '%s' takes %s", arg,
			   o->subcommand->name,
			   o->argument_cnt > 1	  ? "no more files"
			   : o->argument_cnt == 1 ? "one argument"
						  : "options only");
	o->arguments[o->argument_cnt++] = arg;
	return 0;
}

#define SUBCOMMAND_MAX 32

static void export_options_print_completion(const struct subcommand *s, const char *shell,
					    struct argp_state *state)
{
	static const struct completion_words words[] = {
		{ "format", "table csv json parquet", false },
		{ "by", "command process thread cgroup container unit span host", false },
		{ "sort", "self total change a b p value", false },
		{ "metric", "cpu offcpu wall spans rss disk files net faults wakeups", false },
		{ "normalise", "time spans", false },
		{ 0 },
	};
	struct argp_option options[SUBCOMMAND_MAX][ROW_CNT + GENERAL_CNT + 1];
	struct completion_command commands[SUBCOMMAND_MAX];
	struct completion c = { "stacksexport", commands, 0, words };

	for (; s->name; s++, c.command_cnt++) {
		assert(c.command_cnt < SUBCOMMAND_MAX);
		export_options_make_argp(s->accepts, options[c.command_cnt]);
		commands[c.command_cnt] = (struct completion_command){
			s->name, s->summary, { options[c.command_cnt] }, s->argument
		};
	}
	if (completion__print(stdout, &c, shell))
		argp_error(state, "--completion: '%s' is not bash, zsh or fish", shell);
	exit(STATUS_OK);
}

/* Where -o is no other option, it is --output FILE. Options are parsed before the command is. */
static bool export_options_writes_one_file(const struct export_options_parse *p)
{
	const struct subcommand *s = p->first ? subcommand__find(p->subcommands, p->first) : NULL;

	return s && s->accepts & OPTION_OUTPUT &&
	       !(s->accepts & (OPTION_OFFSETS | OPTION_FORMAT | OPTION_DIR));
}

static error_t export_options_parse_one(int key, char *arg, struct argp_state *state)
{
	struct export_options_parse *p = state->input;

	if (key == ARGP_KEY_ARG)
		return export_options_positional(p, arg, state);
	if (key == KEY_COMPLETION)
		export_options_print_completion(p->subcommands, arg, state);
	if (key == 'h' || key == '?')
		p->help = true;
	if (key == 'v' || key == 'V')
		p->version = true;
	if (key == 'h' || key == '?' || key == 'v' || key == 'V')
		return 0;
	if (key == 'o' && export_options_writes_one_file(p)) {
		key = KEY_OUTPUT;
		if (state->next == state->argc)
			argp_error(state, "-o needs a FILE");
		arg = state->argv[state->next++];
	}
	for (size_t i = 0; i < ROW_CNT; i++) {
		const char *wrong;

		if (rows[i].argp.key != key)
			continue;
		wrong = option__set(p->options, &rows[i], arg);
		if (wrong)
			argp_error(state, "--%s '%s': %s", rows[i].argp.name, arg, wrong);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void export_options_help_subcommand(const struct subcommand *s)
{
	struct argp_option options[ROW_CNT + GENERAL_CNT + 1];
	char doc[4096], name[64];
	struct argp argp = { .options = options, .args_doc = s->argument, .doc = doc };

	export_options_make_argp(s->accepts, options);
	snprintf(doc, sizeof(doc), "%s\v%s", s->summary, s->doc);
	snprintf(name, sizeof(name), "stacksexport %s", s->name);
	argp_help(&argp, stdout, ARGP_HELP_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG, name);
}

static void export_options_help_all(const struct subcommand *s)
{
	puts("Usage: stacksexport COMMAND [OPTION...] [ARGUMENT]\n"
	     "Reads recordings of the collector: profiles, tables and a first look.\n");
	for (; s->name; s++)
		printf("  %-10s %-20s %s\n", s->name, s->argument ? s->argument : "", s->summary);
	puts("\n  -h, --help           this list; after a command, its options and examples\n"
	     "  -v, --version        the program's version\n\n"
	     "Examples:\n"
	     "  stacksexport top\n"
	     "  stacksexport pprof sql/pprof/cpu_ustacks.sql -c postgres\n"
	     "  stacksexport query 'SELECT command, kind, count(*) FROM stacks GROUP BY ALL'\n\n"
	     "Exit status: 0; 1 if there is no recording or no result, or if reading it fails; "
	     "2 for wrong usage; 3 if diff --fail-if is true.");
}

int export_options__wrong(const struct export_options *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log__error("%s (see: stacksexport%s%s --help)", text, o->subcommand ? " " : "",
		   o->subcommand ? o->subcommand->name : "");
	return STATUS_USAGE;
}

/* The options that were given all belong to the subcommand. */
static bool export_options_check_accepted(const struct export_options *o, int *status)
{
	uint64_t foreign = o->given & ~o->subcommand->accepts;

	for (size_t i = 0; foreign && i < ROW_CNT; i++) {
		if (!(rows[i].bit & foreign))
			continue;
		*status = export_options__wrong(o, "'%s' does not take --%s", o->subcommand->name,
						rows[i].argp.name);
		return false;
	}
	return true;
}

static bool export_options_check(const struct export_options_parse *p, int *status)
{
	struct export_options *o = p->options;

	*status = STATUS_OK;
	if (p->version) {
		puts("stacksexport " STACKS_VERSION);
		return false;
	}
	if (p->help) {
		if (o->subcommand)
			export_options_help_subcommand(o->subcommand);
		else
			export_options_help_all(p->subcommands);
		return false;
	}
	if (!o->subcommand) {
		*status = export_options__wrong(o, "a command is missing, for example top");
		return false;
	}
	return export_options_check_accepted(o, status) &&
	       export_options_take_recordings(o, status);
}

bool export_options__parse(struct export_options *o, const struct subcommand *subcommands,
			   char **argv, int *status)
{
	struct argp_option options[ROW_CNT + GENERAL_CNT + 1];
	struct argp argp = { .options = options, .parser = export_options_parse_one };
	struct export_options_parse p = { .options = o,
					  .subcommands = subcommands,
					  .first = argv[0] ? argv[1] : NULL };
	int argc = 0;

	*o = (struct export_options){ 0 };
	export_options_make_argp(~0ull, options);
	while (argv[argc])
		argc++;
	argp_err_exit_status = STATUS_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p) != 0) {
		*status = STATUS_USAGE;
		return false;
	}
	return export_options_check(&p, status);
}
