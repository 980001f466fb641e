/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of samples, by process. */
#ifndef STACKTRACE_OUTCOMES_H
#define STACKTRACE_OUTCOMES_H

#include <stdbool.h>
#include <stdio.h>

#include "event/trace.h"

struct tally_sums {
	uint64_t samples;  /* with a user stack to unwind */
	uint64_t to_root;  /* of these */
	uint64_t stitched; /* of these: by the thread's stack of before */
	uint64_t lost;	   /* of these: at most two frames, and the root is none of them */
	uint64_t others;   /* samples that pass as they are */
	uint64_t fileless; /* of those to unwind: they end in a file that could not be opened */
	char file[128];	   /* the first one of these; printable */
	uint64_t misnamed; /* of those to unwind: not to the root, by a file that has another's path
			    */
	char misnamed_file[128]; /* the first one of these; printable */
};

struct tally;

/* `rows`: by process, too; without, only the sums. NULL + errno */
struct tally *tally__new(bool rows);
void tally__free(struct tally *);

void tally__name(struct tally *, uint32_t tgid, const char *comm); /* copied */
void tally__inherit(struct tally *, uint32_t tgid, uint32_t parent);
void tally__add(struct tally *, uint32_t tgid, const struct trace *);
void tally__other(struct tally *); /* a sample that passes as it is */
const struct tally_sums *tally__sums(const struct tally *);
void tally__warn(const struct tally *); /* of stacks that are cut short for want of a file */
/* One line per process that had samples, and one of all. */
void tally__print(const struct tally *, FILE *);

#endif
