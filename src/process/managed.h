/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the unwinder gets the caller of code that a managed runtime has made. */
#ifndef PROCESS_MANAGED_H
#define PROCESS_MANAGED_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

enum managed_result {
	MANAGED_NONE, /* no runtime is known to have made this code */
	MANAGED_STEPPED,
	MANAGED_AWAITS, /* a job reads what is needed; only if the query is patient */
	MANAGED_LOST,	/* the caller is unknown */
};

struct managed_query {
	const struct process *process;
	const struct sample *sample;
	const struct snapshot *stack; /* the one of the sample that the walk is on */
	bool patient;
};

/* A frame, then its caller's. */
struct managed_frame {
	uint64_t pc, sp, fp;
	bool caller;	      /* pc is a return address */
	const uint64_t *regs; /* by DWARF number, if it is none */
	/* What to record of the frame itself: its real pc, and its stack pointer. An interpreter's
	 * frame that runs a function has its frame pointer there. */
	uint64_t own_pc, own_sp;
	bool interprets;
	bool hidden; /* the runtime itself is at work */
};

struct managed_code {
	enum managed_result (*step)(void *arg, const struct managed_query *,
				    struct managed_frame *);
	/* Returns true if a runtime may have code without call-frame information in this file. */
	bool (*may_own)(void *arg, const struct mapping *);
	void *arg;
};

#endif
