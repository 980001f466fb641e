/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From input to output: records are read, put in the order of time, unwound and written. */
#ifndef STACKTRACE_FILTER_H
#define STACKTRACE_FILTER_H

#include "stacktrace/stacktrace_options.h"
#include "stacktrace/outcomes.h"

struct filter_files {
	int in, out; /* what the output has is left alone until the input is known to be one */
	const volatile int *interrupts; /* how many have come: with the third the input ends */
};

/* Runs to the end of the input. The exit status, after saying what went wrong. */
int filter__run(const struct options *, const struct filter_files *);

#endif
