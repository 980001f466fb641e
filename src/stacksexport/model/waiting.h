/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the function in which a thread waits, by the rules of sql/top/stack_functions.sql, for
 * stacks of a stackset. Leaves out the scheduler's functions, and those of glibc on top of every
 * blocking call. In a libc without symbols, the first function with a name counts.
 */
#ifndef STACKSEXPORT_MODEL_WAITING_H
#define STACKSEXPORT_MODEL_WAITING_H

#include "stacksexport/model/stackset.h"

struct waiting {
	size_t first;	/* the innermost frame that counts */
	bool leaf_only; /* none counts: the thread waits in its innermost frame */
};

/* Takes the frames leaf first. */
struct waiting waiting__find(const struct stackset *, const uint32_t *frames, size_t cnt);

/* Returns true if the function is on top of every wait. */
bool waiting__is_hidden(const struct stackset *, uint32_t frame);

#endif
