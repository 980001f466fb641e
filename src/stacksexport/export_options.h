/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of stacksexport. The tables of options and subcommands are in export_options.c
 * and main.c. */
#ifndef STACKSEXPORT_EXPORT_OPTIONS_H
#define STACKSEXPORT_EXPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_EXCEEDED = 3 }; /* of exit */

/* Bits of options, for subcommand.accepts and export_options.given. */
enum export_option {
	OPTION_BINARY = 1 << 0,
	OPTION_COMM = 1 << 1,
	OPTION_RECORDING = 1 << 2,
	OPTION_INLINES = 1 << 3,
	OPTION_OFFSETS = 1 << 4,
	OPTION_DIR = 1 << 5,
	OPTION_OUTPUT = 1 << 6,
	OPTION_NO_OPEN = 1 << 7,
	OPTION_FORMAT = 1 << 8,
	OPTION_FILE = 1 << 9,
	OPTION_ROWS = 1 << 10,
	OPTION_SORT = 1 << 22,
	OPTION_BY = 1 << 23,
	OPTION_WAITING = 1 << 24,
	OPTION_FROM = 1 << 11,
	OPTION_TO = 1 << 12,
	OPTION_PID = 1 << 13,
	OPTION_TID = 1 << 14,
	OPTION_THREAD = 1 << 15,
	OPTION_SPAN = 1 << 16,
	OPTION_KIND = 1 << 17,
	OPTION_CGROUP = 1 << 18,
	OPTION_HOST = 1 << 19,
	OPTION_INTERPRETER = 1 << 20,
	OPTION_SVG = 1 << 21,
	OPTION_METRIC = 1 << 25,
	OPTION_NORMALISE = 1 << 26,
	OPTION_ALL = 1 << 27,
	OPTION_FAIL_IF = 1 << 28,
	OPTIONS_RANGES = 1 << 29, /* --before and --after */
	OPTION_READ_ONLY = 1 << 30,
	OPTION_FOLLOW = 1ull << 31,
	OPTION_REMOVE = 1ull << 32,
	OPTION_EVERY = 1ull << 33,
	OPTION_MAX_SPOOL = 1ull << 34,
	OPTION_SOURCES = 1ull << 35,

	/* Which part of a recording (selection.h). */
	OPTIONS_SELECTION = OPTION_FROM | OPTION_TO | OPTION_PID | OPTION_TID | OPTION_THREAD |
			    OPTION_SPAN | OPTION_KIND | OPTION_CGROUP | OPTION_HOST,

	/* Every subcommand has them. */
	OPTIONS_COMMON = OPTION_RECORDING | OPTION_COMM | OPTION_BINARY | OPTION_INTERPRETER |
			 OPTIONS_SELECTION,
};

#define EXPORT_ARGUMENTS_MAX 64

struct subcommand;

/* Strings are argv's. */
struct export_options {
	const struct subcommand *subcommand;
	const char *arguments[EXPORT_ARGUMENTS_MAX]; /* query: its text; else the query's file */
	size_t argument_cnt;
	const char *recordings[EXPORT_ARGUMENTS_MAX]; /* each -r; none: the newest one */
	size_t recording_cnt;
	const char *binary; /* -b: an ELF file */
	const char *comm;   /* -c */
	const char *dir;    /* -d; NULL: the default */
	const char *output; /* --output; "-" is stdout */
	const char *format; /* --format; one of query.c's table */
	const char *file;   /* -f: a file with the query */
	/* selection.h */
	const char *from, *to, *pid, *tid, *thread, *span, *kind, *cgroup, *host;
	const char *sort;    /* "self" or "total"; NULL: "self" */
	const char *by;	     /* --by; NULL: "command" */
	const char *sources; /* -p: of the collector that live starts */
	const char *svg;     /* --svg: a picture of a flame graph */
	/* diff: a metric's id, what its sides are compared by, its limit, "FROM..TO" of each side
	 */
	const char *metric, *normalise, *fail_if, *before, *after;
	size_t rows; /* -N; 0: as many as the subcommand shows by itself */
	bool inlines, offsets, no_open, interpreter, waiting, all, read_only;
	const char *every;     /* merge --every */
	const char *max_spool; /* push --max-spool */
	bool follow, remove;
	/* Set by the subcommand: new batches are read as they come; a large recording is shown
	 * while it is read; times are shown, from the beginning of the recording. */
	bool follows, in_steps, shows_times;
	uint64_t given; /* enum export_option */
};

struct subcommand {
	const char *name;
	const char *argument; /* its name in the usage; NULL when it takes none */
	size_t argument_max;
	bool of_recordings;  /* its arguments are recordings, as if -r were before each */
	const char *summary; /* one line */
	const char *doc;     /* what --help says after the options: details and examples */
	uint64_t accepts;    /* enum export_option */
	int (*run)(const struct export_options *); /* returns the exit status */
};

/*
 * Parses the command line. True: run options->subcommand. False: all is said (help, version, or on
 * stderr what is wrong), *status is the exit status. `subcommands` ends with a row without a name.
 */
bool export_options__parse(struct export_options *, const struct subcommand *subcommands,
			   char **argv, int *status);

/* Says on stderr what is wrong with the call and where the help is; returns STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int export_options__wrong(const struct export_options *,
								const char *fmt, ...);

#endif
