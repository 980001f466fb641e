/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads pieces of a process's code, by a job. */
#ifndef RUNTIME_CODEFETCH_H
#define RUNTIME_CODEFETCH_H

#include "base/jobs.h"
#include "runtime/runtime.h"

struct codes;
struct host;

/* Knows all that it needs: it may go on when all else is gone. */
struct code_fetch {
	struct job job;
	struct codes *codes; /* only while there are jobs */
	struct host *host;
	int proc;
	uint32_t tgid;
	uint64_t begin_ns;
	struct runtime_layout layout;
	struct code_ranges ranges;
	bool has_ranges;
	size_t cnt, done;
	struct {
		struct code_wanted wanted;
		struct code_blob *blob; /* NULL: it is the same as before */
	} pieces[];
};

#define WANTED_MAX 512 /* pieces that one job reads */

/* `work` of the job. Fills .blob, .done and .has_ranges. */
void code_fetch__work(struct job *);

#endif
