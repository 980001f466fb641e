/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the frames of a managed runtime's code by the calls of functions that they stand for. */
#ifndef RUNTIME_EXPAND_H
#define RUNTIME_EXPAND_H

#include "event/record.h"
#include "runtime/codes.h"
#include "runtime/scripts.h"

/* Belongs to the caller, reused for every trace. */
struct expand_room {
	struct script_call calls[TRACE_MAX]; /* trace->calls, borrowed by the trace */
	struct frame frames[TRACE_MAX];
};

struct expand_input {
	const struct process *process;
	const struct event *event;
	const struct snapshot *stack;
	struct codes *codes;
	struct scripts *scripts; /* scripts__begin() was called for the process */
};

/* Returns false, with the trace as it was, while functions are being read; never if `last`. */
bool expand__frames(struct trace *, const struct expand_input *, bool last, struct expand_room *);

#endif
