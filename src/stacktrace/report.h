/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far the program is: for the terminal, and in a file that others look at. */
#ifndef STACKTRACE_REPORT_H
#define STACKTRACE_REPORT_H

#include "formats/stream.h"
#include "stacktrace/outcomes.h"

struct report_facts {
	const struct tally_sums *sums;
	uint64_t read_sz, written_sz, input_sz; /* bytes; input_sz 0: not known */
	size_t pending;				/* files that are waited for */
	bool ended;
};

struct report;

/* `status`: the file's path, or NULL. NULL + errno. */
struct report *report__new(const char *status);
void report__free(struct report *);
/* Called as often as anybody likes; says something twice a second, and when it has ended. */
void report__tick(struct report *, const struct report_facts *);

#endif
