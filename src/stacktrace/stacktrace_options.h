/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKTRACE_STACKTRACE_OPTIONS_H
#define STACKTRACE_STACKTRACE_OPTIONS_H

#include "formats/stream.h"

enum { STATUS_OK = 0, STATUS_DAMAGED = 1, STATUS_FAILED = 2, STATUS_USAGE = 64 };

enum mode { MODE_NONE, MODE_PASSTHRU, MODE_NAIVE, MODE_CACHING, MODE_CNT };

/* Strings are argv's. */
struct options {
	const char *input, *output; /* NULL: stdin, stdout */
	const char *status;	    /* a file; NULL: none */
	const char *sysroot;	    /* NULL: none */
	bool debuginfod, stitch;
	enum mode mode;
	enum format format; /* FORMAT_UNKNOWN: to be detected */
	enum format target; /* FORMAT_UNKNOWN: the input's */
	bool pprof;	    /* a profile instead */
	uint64_t latency_ns;
	int verbosity; /* 1: a summary per process, 2: what happens besides */
};

/* Ends the program where the call is wrong, or all is said. */
void filter_options__parse(struct options *, int argc, char **argv);

#endif
