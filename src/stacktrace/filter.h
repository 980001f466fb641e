/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the input to the output: reads records, sorts them by time, unwinds samples, and writes.
 */
#ifndef STACKTRACE_FILTER_H
#define STACKTRACE_FILTER_H

#include "stacktrace/stacktrace_options.h"
#include "stacktrace/outcomes.h"

struct filter_files {
	int in, out; /* the output is not truncated until the format of the input is known */
	const volatile int *interrupts; /* interrupts received; the third one ends the input */
};

/* Runs to the end of the input. Returns the exit status; errors are already logged. */
int filter__run(const struct filter_options *, const struct filter_files *);

#endif
