/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a snapshot to its call chain, by DWARF CFI. */
#ifndef UNWIND_UNWINDER_H
#define UNWIND_UNWINDER_H

#include "event/trace.h"
#include "process/process.h"

struct unwinder;

struct unwinder *unwinder__new(void); /* NULL + errno */
void unwinder__free(struct unwinder *);

/*
 * Walks the user stack of `event` (which has EVENT_F_USER) in `process`. Never fails: trace->status
 * says how far it came; trace->cnt is at least 1. Allocates nothing once the rules of the pcs are
 * known.
 */
void unwinder__walk(struct unwinder *, const struct process *, const struct event *,
		    struct trace *);

#endif
