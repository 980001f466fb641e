/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks into one process: which runtime it has, and where that keeps its calls. Blocks: for jobs.
 */
#ifndef RUNTIME_LOCATE_H
#define RUNTIME_LOCATE_H

#include "runtime/runtime.h"

struct located {
	const struct runtime *runtime; /* NULL: none, or none that is wanted */
	uint64_t ino;		       /* of the executable file */
	char file[64];		       /* name of the file that has the runtime, cleaned */
	int err;		       /* of runtime.locate */
	struct runtime_layout layout;
	struct capture_runtime where;
	struct code_ranges ranges; /* of a runtime with .code */
};

struct locate_wish {
	int proc;		 /* an open /proc */
	uint32_t tgid, wanted;	 /* wanted: a bit for each row of runtimes_table */
	struct workers *workers; /* borrowed; they read the symbols of files; NULL: none */
};

/* Returns false if workers failed, so that another try makes sense later. */
bool locate__process(const struct locate_wish *, struct located *);

/* Opens a file of /proc/PID. Returns an fd or -errno. */
int locate__open(int proc, uint32_t tgid, const char *name);

/* Returns the first address at which the process has mapped that file to run it, or 0. */
uint64_t locate__file(int proc, uint32_t tgid, uint64_t ino);

#endif
