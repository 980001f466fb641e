/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds allocation functions, in a worker if there are workers (worker/workers.h). */
#ifndef CAPTURE_ALLOCTASK_H
#define CAPTURE_ALLOCTASK_H

#include "capture/allocfunctions.h"
#include "worker/workers.h"

/* Like alloc_functions__find(), but a worker reads the file unless `workers` is NULL. Also returns
 * an error for which workers__failed() is true. */
int alloc_task__find(struct workers *, const struct elf_file *, struct alloc_functions *);

/* The function for TASK_ALLOCATORS, in a worker. */
int alloc_task__run(struct task *);

#endif
