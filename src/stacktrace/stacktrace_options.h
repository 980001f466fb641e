/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKTRACE_STACKTRACE_OPTIONS_H
#define STACKTRACE_STACKTRACE_OPTIONS_H

#include "formats/stream.h"

enum { STATUS_OK = 0, STATUS_DAMAGED = 1, STATUS_FAILED = 2, STATUS_USAGE = 64 };

enum mode { MODE_NONE, MODE_PASSTHRU, MODE_NAIVE, MODE_CACHING, MODE_CNT };

/* The strings point into argv. */
struct filter_options {
	const char *input, *output; /* NULL: stdin, stdout */
	const char *status;	    /* a file, or NULL */
	const char *sysroot;	    /* a folder, or NULL */
	bool debuginfod, stitch;
	bool no_sandbox; /* root parses files in this process */
	enum mode mode;
	enum format format; /* FORMAT_UNKNOWN: detect it */
	enum format target; /* FORMAT_UNKNOWN: the format of the input */
	bool pprof;	    /* write a pprof profile instead of records */
	uint64_t latency_ns;
	int verbosity; /* 1: a summary per process, 2: debug messages too */
};

/* Exits on a usage error, and after --help, --version and --completion. */
void filter_options__parse(struct filter_options *, int argc, char **argv);

#endif
