/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads perf maps and jitdumps, in a worker if there are workers (worker/workers.h). */
#ifndef JIT_CODETASK_H
#define JIT_CODETASK_H

#include "jit/codelist.h"
#include "worker/workers.h"

/* The dump comes first in look-ups, because it has times. */
enum code_format { CODE_DUMP, CODE_MAP, CODE_FORMAT_CNT };

/* The bytes of a file that are to be read. */
struct code_file {
	enum code_format format;
	uint32_t tgid; /* of the process, for messages */
	int fd;
	uint64_t end;		 /* offset; the file has had so many bytes */
	struct workers *workers; /* NULL: this thread reads */
};

/*
 * Reads the next part of a file, from `at` on, which it advances. Sets `*list`, which the caller
 * frees, also on failure, and whether there is more. Returns 0, an error of the reader
 * (jit/perfmap.h, jit/jitdump.h), -ENOMEM, or an error for which workers__failed() is true.
 */
int code_task__read(const struct code_file *, struct code_progress *at, struct code_list *list,
		    bool *more);

/* The function for TASK_CODE, in a worker. */
int code_task__run(struct task *);

#endif
