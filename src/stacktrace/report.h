/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports the progress on the terminal and in a status file for other programs. */
#ifndef STACKTRACE_REPORT_H
#define STACKTRACE_REPORT_H

#include "formats/stream.h"
#include "stacktrace/outcomes.h"

struct report_facts {
	const struct tally_sums *sums;
	uint64_t read_sz, written_sz, input_sz; /* bytes; input_sz is 0 if unknown */
	size_t pending;				/* files pending */
	bool ended;
};

struct report;

/* Returns NULL with errno set if out of memory. `status` is the path of the status file, or NULL.
 */
struct report *report__new(const char *status);
void report__free(struct report *);
/* Reports at most twice a second, and when `ended` is set. May be called at any rate. */
void report__tick(struct report *, const struct report_facts *);

#endif
