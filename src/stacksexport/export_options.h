/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asks for. The tables of options and subcommands are in export_options.c and main.c.
 */
#ifndef STACKSEXPORT_EXPORT_OPTIONS_H
#define STACKSEXPORT_EXPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 }; /* exit statuses */

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
	OPTION_INTERPRETER = 1 << 11,
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
	size_t rows;	    /* -N; 0: as many as the subcommand shows by itself */
	bool inlines, offsets, no_open, interpreter;
	unsigned given; /* enum export_option */
};

struct subcommand {
	const char *name;
	const char *argument; /* its name in the usage; NULL when it takes none */
	size_t argument_max;
	const char *summary; /* one line */
	const char *doc;     /* what --help says after the options: details and examples */
	unsigned accepts;    /* enum export_option */
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
