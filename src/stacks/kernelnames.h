/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols, read by a job: that takes longer than all else at the start. */
#ifndef STACKS_KERNELNAMES_H
#define STACKS_KERNELNAMES_H

#include "base/jobs.h"
#include "stacks/stack.h"

struct kernel_names;

/* Begins to read; when that is done `stacks` has them. Both are borrowed. NULL + errno. */
struct kernel_names *kernel_names__new(struct jobs *, struct stacks *);
/* After jobs__free(), and after the stacks. Accepts NULL. */
void kernel_names__free(struct kernel_names *);
/* Whether the stacks have them, or never will, which has been said; true of NULL. */
bool kernel_names__ready(const struct kernel_names *);

#endif
