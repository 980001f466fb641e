/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From call chains to stack ids, and to the rows of `stacktraces` that the ids refer to. */
#ifndef COLLECTOR_STACK_H
#define COLLECTOR_STACK_H

#include "event/trace.h"
#include "store/recording.h"
#include "symbol/symbol.h"

struct stacks;

/* Both are borrowed; `kernel` may be NULL: kernel frames have no names then. NULL + errno. */
struct stacks *stacks__new(struct recording *, struct kallsyms *kernel);
void stacks__free(struct stacks *);

/*
 * The id of a stack, a hash of its content that is the same on every host and after a reboot: (build ID,
 * file offset) per frame; see README, "Stack ids". The first time that a batch sees it, it is
 * symbolized and added to the batch.
 */
uint64_t stacks__user(struct stacks *, const struct trace *);
uint64_t stacks__kernel(struct stacks *, const uint64_t *pcs, size_t cnt); /* leaf first, then return addresses */

#endif
