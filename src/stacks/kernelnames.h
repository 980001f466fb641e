/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the kernel's symbols in a job, because that takes longer than the rest of the start. */
#ifndef STACKS_KERNELNAMES_H
#define STACKS_KERNELNAMES_H

#include "base/jobs.h"
#include "stacks/stack.h"

struct kernel_names;

/* Starts to read. When the symbols are read, `stacks` has them. Borrows both arguments. Returns
 * NULL and sets errno on failure. */
struct kernel_names *kernel_names__new(struct jobs *, struct stacks *);
/* Call it after jobs__free(), and after the stacks are freed. Accepts NULL. */
void kernel_names__free(struct kernel_names *);
/* Returns true if the stacks have the symbols, or never will (already logged). Returns true for
 * NULL. */
bool kernel_names__ready(const struct kernel_names *);

#endif
