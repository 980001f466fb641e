/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the calls of an interpreted program between the native frames that run them. */
#ifndef RUNTIME_INTERLEAVE_H
#define RUNTIME_INTERLEAVE_H

#include "runtime/runtime.h"

struct interleave_input {
	const struct runtime *runtime;
	const struct runtime_run *runs; /* innermost first */
	size_t run_cnt;
	const struct script_call *calls;     /* by the runs' indexes; without script: not shown */
	bool cut;			     /* there are more calls than these */
	const struct elf_symbol_code *waits; /* of the layout; or NULL */
	const struct runtime_layout *layout;
	const struct snapshot *stack;
};

/* Belongs to the caller, reused for every trace. */
struct interleave_room {
	struct script_call calls[EVENT_CALLS_MAX + 1]; /* trace->calls, borrowed by the trace */
	struct frame frames[TRACE_MAX];
};

/*
 * The native frame that holds a run's anchor runs its calls: they go before it. Where no frame
 * holds it, calls follow by order, marked so. Native frames of the interpreter's own file, from the
 * one that runs the innermost calls on, get FRAME_INTERPRETER, except the root. A trace with more
 * calls than were read is UNWIND_LIMIT. A thread that waits for its turn in the interpreter gets
 * a leaf for that.
 */
void interleave__calls(struct trace *, const struct interleave_input *, struct interleave_room *);

#endif
