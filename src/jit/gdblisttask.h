/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads lists for gdb, in a worker if there are workers (worker/workers.h). */
#ifndef JIT_GDBLISTTASK_H
#define JIT_GDBLISTTASK_H

#include "jit/gdblist.h"
#include "worker/workers.h"

/* A process's list. */
struct gdb_list_source {
	uint32_t tgid; /* for messages */
	int mem;       /* /proc/PID/mem */
	uint64_t first;
	struct workers *workers; /* NULL: this thread reads */
};

/* Like gdb_list__read(). errno may also be an error for which workers__failed() is true, negated.
 */
struct gdb_list *gdb_list_task__read(const struct gdb_list_source *, size_t *sz);

/* The function for TASK_IMAGES, in a worker. */
int gdb_list_task__run(struct task *);

#endif
