/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where a thread with a stack of a stackset waits (model/waiting.h). */
#ifndef STACKSEXPORT_MODEL_STACKWAIT_H
#define STACKSEXPORT_MODEL_STACKWAIT_H

#include "stacksexport/model/stackset.h"
#include "stacksexport/model/waiting.h"

/* `frames`: leaf first. If memory is short, the result is that the thread waits in the leaf. */
struct waiting stack_wait__find(const struct stackset *, const uint32_t *frames, size_t cnt);

/* Returns true if the frame's function is on top of every wait. */
bool stack_wait__is_hidden(const struct stackset *, uint32_t frame);

#endif
