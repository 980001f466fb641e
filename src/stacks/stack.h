/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes stack IDs from call chains, and the rows of `stacktraces` to which the IDs refer. */
#ifndef STACKS_STACK_H
#define STACKS_STACK_H

#include "stacks/jitkeys.h"
#include "stacks/symbolizer.h"
#include "event/trace.h"
#include "store/recording.h"
#include "symbol/symbol.h"

struct stacks;

/* Borrows all arguments. JIT code has no names if `jit` is NULL; `workers` may be NULL
 * (stacks/symbolizer.h). Returns NULL and sets errno on failure. */
struct stacks *stacks__new(struct recording *, struct jit *jit, struct workers *);
void stacks__free(struct stacks *);
/* Borrowed. Until it is called, kernel frames have no names. */
void stacks__set_kernel(struct stacks *, struct kallsyms *);

/*
 * Sets the ID of a stack, a hash of its content that is the same on every host and after a reboot:
 * (build ID, file offset) per frame; see docs/format.md, "Stack ids". Adds a stack that is new to
 * the batch. If its names must be found first, the name thread does that, and a later
 * stacks__collect() adds it.
 *
 * Returns 0, with an ID of 0 if out of memory. Returns -EAGAIN while a symbol table that the ID
 * needs is being read (of a file without a build ID): retry when stacks__collect() has collected
 * something.
 */
int stacks__user(struct stacks *, const struct trace *, const struct stack_owner *,
		 uint64_t *stack_id);
/* Returns the ID of a kernel stack: the leaf, then return addresses. Of an interrupt, only its own
 * frames count. The stack is named and added at once. */
uint64_t stacks__kernel(struct stacks *, const uint64_t *pcs, size_t cnt, bool interrupt);

/* Adds the stacks that have been named. Returns their number. */
size_t stacks__collect(struct stacks *);
size_t stacks__unnamed(
	const struct stacks *); /* stacks without names so far; 0: the batch may be closed */
/* Bytes in memory of the stacks without names so far, and of the kernel's names. */
size_t stacks__unnamed_sz(const struct stacks *);
size_t stacks__kernel_names_sz(const struct stacks *);
/* Returns the number of stacks that were written without names, because a file system did not
 * answer in time. */
size_t stacks__nameless(const struct stacks *);
/* Adds all stacks, after `patience_ns` also those without names. */
void stacks__finish(struct stacks *, uint64_t patience_ns);
int stacks__err(const struct stacks *); /* sticky: 0, or -ENOMEM when a stack could not be added */

#endif
