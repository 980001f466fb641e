/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From call chains to stack ids, and to the rows of `stacktraces` that the ids refer to. */
#ifndef STACKS_STACK_H
#define STACKS_STACK_H

#include "stacks/jitkeys.h"
#include "stacks/symbolizer.h"
#include "event/trace.h"
#include "store/recording.h"
#include "symbol/symbol.h"

struct stacks;

/* Both are borrowed; `kernel` may be NULL: kernel frames have no names then. NULL + errno. */
struct stacks *stacks__new(struct recording *, struct kallsyms *kernel);
void stacks__free(struct stacks *);
void stacks__set_kernel(struct stacks *, struct kallsyms *);

/*
 * The id of a stack, a hash of its content that is the same on every host and after a reboot:
 * (build ID, file offset) per frame; see docs/format.md, "Stack ids". The first time that a batch
 * sees it, it is added; where names have to be found first another thread does that, and a later
 * stacks__collect() adds it.
 * 0, with an id of 0 when memory is short; -EAGAIN while a symbol table has to be read that the id
 * needs (of a file without a build ID): again when stacks__collect() has taken something back.
 */
int stacks__user(struct stacks *, const struct trace *, const struct stack_owner *,
		 uint64_t *stack_id);
/* Leaf first, then return addresses; of an interrupt only its own frames. Named and added at once.
 */
uint64_t stacks__kernel(struct stacks *, const uint64_t *pcs, size_t cnt, bool interrupt);

/* Adds the stacks that have got their names. How many. */
size_t stacks__collect(struct stacks *);
size_t stacks__unnamed(const struct stacks *); /* 0: the batch may be closed */
/* Stacks that were written without their names, because a file system did not answer in time. */
size_t stacks__nameless(const struct stacks *);
/* Adds all stacks; what has no names when the patience ends is added without. */
void stacks__finish(struct stacks *, uint64_t patience_ns);
int stacks__err(const struct stacks *); /* sticky: 0, or -ENOMEM when a stack could not be added */

#endif
