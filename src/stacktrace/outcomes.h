/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the results of unwinding, by process. */
#ifndef STACKTRACE_OUTCOMES_H
#define STACKTRACE_OUTCOMES_H

#include <stdbool.h>
#include <stdio.h>

#include "event/trace.h"

struct tally_sums {
	uint64_t samples;  /* with a user stack to unwind */
	uint64_t to_root;  /* … and unwound to the root */
	uint64_t stitched; /* … and completed with callers from an earlier stack of the thread */
	uint64_t lost;	   /* … and stopped before the root with at most two frames */
	uint64_t others;   /* samples passed through unchanged */
	uint64_t fileless; /* samples to unwind that end in a file that could not be opened */
	char file[128];	   /* the first such file; printable */
	uint64_t misnamed; /* samples to unwind that miss the root and pass through a file with
			    * the path of another file */
	char misnamed_file[128]; /* the first such file; printable */
};

struct tally;

/* Returns NULL if out of memory. `rows`: also count by process, not only the sums. */
struct tally *tally__new(bool rows);
void tally__free(struct tally *);

void tally__name(struct tally *, uint32_t tgid, const char *comm); /* copies comm */
void tally__inherit(struct tally *, uint32_t tgid, uint32_t parent);
void tally__add(struct tally *, uint32_t tgid, const struct trace *);
void tally__other(struct tally *); /* counts a sample passed through unchanged */
const struct tally_sums *tally__sums(const struct tally *);
void tally__warn(const struct tally *); /* logs stacks truncated by a missing file */
/* Prints one line per process that had samples, and one total line. */
void tally__print(const struct tally *, FILE *);

#endif
