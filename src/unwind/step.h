/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The long way up a stack, a frame at a time: all registers, all rules, and what to do without. */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"
#include "unwind/jitcfi.h"
#include "unwind/regs.h"

struct walk {
	const struct process *process;
	const struct sample *sample;
	const struct snapshot *stack; /* of the sample: the one that it is on */
	struct trace *trace;
	struct regs regs;	   /* of the frame in hand */
	uint32_t flags, source;	   /* of the frame that is next */
	const struct mapping *map; /* of the frame in hand */
	uint64_t code_bits;	   /* of a return address */
	uint64_t low;	    /* where the stack begins: before the snapshot when that lacks pages */
	uint64_t signal_sp; /* the signal frame's stack pointer when the frame in hand was
			       interrupted */
	bool bare;	    /* a table says that the frame in hand has no rule in its file */
	struct jit_cfi *jit;
	struct jobs *jobs; /* that read files; NULL: they are read at once */
	bool patient;	   /* it ends where something is awaited */
	bool awaits;
	bool coded; /* the instructions of the frame in hand say a rule */
};

#define WALK_GO_ON UNWIND_STATUS_CNT	   /* a step's result: there is a next frame */
#define WALK_STAY  (UNWIND_STATUS_CNT + 1) /* private to step.c: this way leads nowhere */

/*
 * From a frame, which has its pc and flags and gets its mapping, to the one that is next: the
 * walk's registers, flags and source are that one's then. Else how the walk ends.
 */
enum unwind_status walk__step(struct walk *, struct frame *);

static inline const struct machine *walk__machine(const struct walk *w)
{
	return w->sample->machine;
}

/* Goes on on one of the sample's stacks. */
static inline void walk__stand_on(struct walk *w, const struct snapshot *stack)
{
	uint64_t sp = w->sample->regs[walk__machine(w)->sp];

	w->stack = stack;
	w->low = stack == &w->sample->stack && sp < stack->addr ? sp : stack->addr;
}

static inline uint64_t walk__pc(const struct walk *w)
{
	return w->regs.v[walk__machine(w)->pc];
}

static inline uint64_t walk__sp(const struct walk *w)
{
	return w->regs.v[walk__machine(w)->sp];
}

static inline uint64_t walk__fp(const struct walk *w)
{
	return w->regs.v[walk__machine(w)->fp];
}

static inline const struct mapping *walk__map(const struct walk *w, uint64_t addr)
{
	return mapping__holds(w->map, addr) ? w->map : process__find(w->process, addr);
}

#endif
