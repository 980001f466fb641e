// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/stacktrace_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/completion.h"
#include "base/parse.h"
#include "formats/formats.h"

#define LATENCY_NS     250000000
#define LATENCY_MAX_NS 60000000000
#define VERBOSE_ENV    "ELFUTILS_STACKTRACE_VERBOSE"

enum key {
	KEY_TO = 256,
	KEY_DEBUG,
	KEY_LATENCY,
	KEY_STATUS,
	KEY_SYSROOT,
	KEY_DEBUGINFOD,
	KEY_STITCH,
	KEY_NO_SANDBOX,
	KEY_COMPLETION,
};

static const struct argp_option argp_options[] = {
	{ "input", 'i', "FILE", 0, "Read this file or fifo; -, the default, is the standard input",
	  1 },
	{ "output", 'o', "FILE", 0, "Write this file; -, the default, is the standard output", 1 },
	{ "format", 'f', "FORMAT", 0,
	  "Format of the input: perf (perf.data, or the output of perf record -o -) or sysprof; "
	  "default: detected",
	  1 },
	{ "to", KEY_TO, "FORMAT", 0,
	  "Format of the output: perf, sysprof or pprof; default: by the ending of --output's FILE "
	  "(.data, .syscap, .pb.gz), else the format of the input",
	  1 },
	{ "mode", 'm', "MODE", 0,
	  "How to unwind: caching (compile call-frame information once per file; the default), "
	  "naive (libdwfl for each sample), passthru (copy the input), none (read the input, write "
	  "the header)",
	  2 },
	{ "sysroot", KEY_SYSROOT, "DIR", 0,
	  "Root folder of the recorded machine's files, searched first", 2 },
	{ "debuginfod", KEY_DEBUGINFOD, 0, 0,
	  "Download files that are not found from the servers in $DEBUGINFOD_URLS", 2 },
	{ "stitch", KEY_STITCH, 0, 0,
	  "Complete truncated stacks with the callers in the thread's previous stack", 2 },
	{ "no-sandbox", KEY_NO_SANDBOX, 0, 0,
	  "As root, parse files in this process, not in processes without rights", 2 },
	{ "latency", KEY_LATENCY, "TIME", 0,
	  "Write the input of a pipe after TIME at the latest (default: 250ms)", 3 },
	{ "status", KEY_STATUS, "FILE", 0,
	  "Write the progress and the share of unwound stacks to FILE, as JSON, twice a second",
	  3 },
	{ "verbose", 'v', 0, 0, "Print the results of each process at the end", 3 },
	{ "debug", KEY_DEBUG, 0, 0, "Print debug messages", 3 },
	{ "completion", KEY_COMPLETION, "SHELL", OPTION_HIDDEN,
	  "Print the completion file for bash, zsh or fish", 3 },
	{ 0 },
};

static const char doc[] =
	"Turns the raw stack samples of other profilers into call chains."
	"\v"
	"Samples with registers and a copy of the stack become samples with a call chain. All "
	"other records are copied byte for byte. Programs and libraries are found by the build ID "
	"or path in the stream.\n\n"
	"Examples:\n"
	"  perf record --call-graph dwarf -o - ./prog | stacktrace > small.data\n"
	"  stacktrace -i perf.data -o small.data && perf report -i small.data\n"
	"  stacktrace -i perf.data -o prof.syscap\n"
	"  stacktrace -i perf.data -o prof.pb.gz && pprof -top prof.pb.gz\n"
	"  mkfifo f; stacktrace -i f -o out.syscap & sysprof-cli --use-fifo=f ...\n\n"
	"Exit status: 0; 1 if the input is damaged (everything before the damage is written); 2 if "
	"reading or writing fails; 64 for wrong usage.  "
	"$" VERBOSE_ENV " (verbose, debug) has the effect of the options. "
	"The first two interrupts (Ctrl-C) are left to the program that writes the input; the "
	"third ends the input.";

/* argp of glibc reads it, so it must not be hidden as other symbols are. */
__attribute__((visibility("default"))) const char *argp_program_version =
	"stacktrace " STACKS_VERSION;

static const char *const modes[MODE_CNT] = {
	[MODE_NONE] = "none",
	[MODE_PASSTHRU] = "passthru",
	[MODE_NAIVE] = "naive",
	[MODE_CACHING] = "caching",
};

static enum mode stacktrace_options_parse_mode(const char *arg, struct argp_state *state)
{
	for (enum mode m = 0; m < MODE_CNT; m++)
		if (strcmp(modes[m], arg) == 0)
			return m;
	argp_error(state, "--mode: '%s' is not none, passthru, naive or caching", arg);
	return MODE_CACHING;
}

static enum format stacktrace_options_parse_format(const char *arg, struct argp_state *state)
{
	enum format f = format__by_name(arg);

	if (f == FORMAT_UNKNOWN)
		argp_error(state, "--format: '%s' is not perf or sysprof", arg);
	return f;
}

static void stacktrace_options_parse_target(struct filter_options *o, const char *arg,
					    struct argp_state *state)
{
	o->pprof = strcmp(arg, "pprof") == 0;
	o->target = format__by_name(arg);
	if (!o->pprof && o->target == FORMAT_UNKNOWN)
		argp_error(state, "--to: '%s' is not perf, sysprof or pprof", arg);
}

static const char *stacktrace_options_path_or_std(const char *arg)
{
	return strcmp(arg, "-") == 0 ? NULL : arg;
}

static void stacktrace_options_parse_latency(struct filter_options *o, const char *arg,
					     struct argp_state *state)
{
	if (parse__duration(arg, &o->latency_ns) != 0 || o->latency_ns < 1000000 ||
	    o->latency_ns > LATENCY_MAX_NS)
		argp_error(state, "--latency: '%s' is not a time from 1ms to 60s", arg);
}

static void stacktrace_options_print_completion(const char *shell, struct argp_state *state)
{
	static const struct completion_words words[] = {
		{ "format", "perf sysprof", false },
		{ "to", "perf sysprof pprof", false },
		{ "mode", "caching naive passthru none", false },
		{ 0 },
	};
	const struct completion_command command = {
		.options = { argp_options, completion_argp_options },
	};
	const struct completion c = { "stacktrace", &command, 1, words };

	if (completion__print(stdout, &c, shell))
		argp_error(state, "--completion: '%s' is not bash, zsh or fish", shell);
	exit(0);
}

static error_t stacktrace_options_parse_one(int key, char *arg, struct argp_state *state)
{
	struct filter_options *o = state->input;

	switch (key) {
	case 'i': o->input = stacktrace_options_path_or_std(arg); return 0;
	case 'o': o->output = stacktrace_options_path_or_std(arg); return 0;
	case 'm': o->mode = stacktrace_options_parse_mode(arg, state); return 0;
	case 'f': o->format = stacktrace_options_parse_format(arg, state); return 0;
	case 'v': o->verbosity = o->verbosity > 1 ? o->verbosity : 1; return 0;
	case KEY_TO: stacktrace_options_parse_target(o, arg, state); return 0;
	case KEY_DEBUG: o->verbosity = 2; return 0;
	case KEY_LATENCY: stacktrace_options_parse_latency(o, arg, state); return 0;
	case KEY_STATUS: o->status = arg; return 0;
	case KEY_SYSROOT: o->sysroot = arg; return 0;
	case KEY_DEBUGINFOD: o->debuginfod = true; return 0;
	case KEY_STITCH: o->stitch = true; return 0;
	case KEY_NO_SANDBOX: o->no_sandbox = true; return 0;
	case KEY_COMPLETION: stacktrace_options_print_completion(arg, state); return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; name files with -i and -o", arg);
	}
	return ARGP_ERR_UNKNOWN;
}

static int stacktrace_options_verbosity_of(const char *env)
{
	static const struct {
		const char *name;
		int verbosity;
	} names[] = { { "true", 1 }, { "verbose", 1 }, { "1", 1 }, { "debug", 2 }, { "2", 2 } };

	for (size_t i = 0; env && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(env, names[i].name) == 0)
			return names[i].verbosity;
	return 0;
}

/* Sets the target format from the suffix of the output's name. */
static void stacktrace_options_guess_target(struct filter_options *o)
{
	static const struct {
		const char *end;
		enum format format;
		bool pprof;
	} ends[] = { { ".syscap", FORMAT_SYSPROF, false },
		     { ".data", FORMAT_PERF, false },
		     { ".pb.gz", FORMAT_UNKNOWN, true } };
	size_t sz = o->output ? strlen(o->output) : 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end_sz = strlen(ends[i].end);

		if (sz <= end_sz || strcmp(o->output + sz - end_sz, ends[i].end) != 0)
			continue;
		o->target = ends[i].format;
		o->pprof = ends[i].pprof;
	}
}

void filter_options__parse(struct filter_options *o, int argc, char **argv)
{
	const struct argp argp = {
		argp_options, stacktrace_options_parse_one, NULL, doc, NULL, NULL, NULL
	};

	*o = (struct filter_options){ .mode = MODE_CACHING,
				      .latency_ns = LATENCY_NS,
				      .verbosity = stacktrace_options_verbosity_of(
					      getenv(VERBOSE_ENV)) };
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, o);
	if (o->target == FORMAT_UNKNOWN && !o->pprof && o->mode != MODE_PASSTHRU)
		stacktrace_options_guess_target(o);
}
