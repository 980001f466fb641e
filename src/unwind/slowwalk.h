/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The long way up a stack, a frame at a time: all registers, all rules, and what to do without. */
#ifndef UNWIND_SLOWWALK_H
#define UNWIND_SLOWWALK_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"
#include "jit/jitcfi.h"
#include "cfi/regs.h"

struct slowwalk {
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

#define SLOWWALK_GO_ON UNWIND_STATUS_CNT       /* a step's result: there is a next frame */
#define SLOWWALK_STAY  (UNWIND_STATUS_CNT + 1) /* private to slowwalk.c: this way leads nowhere */

/*
 * From a frame, which has its pc and flags and gets its mapping, to the one that is next: the
 * walk's registers, flags and source are that one's then. Else how the walk ends.
 */
enum unwind_status slowwalk__step(struct slowwalk *, struct frame *);

static inline const struct machine *slowwalk__machine(const struct slowwalk *w)
{
	return w->sample->machine;
}

/* Goes on on one of the sample's stacks. */
static inline void slowwalk__stand_on(struct slowwalk *w, const struct snapshot *stack)
{
	uint64_t sp = w->sample->regs[slowwalk__machine(w)->sp];

	w->stack = stack;
	w->low = stack == &w->sample->stack && sp < stack->addr ? sp : stack->addr;
}

static inline uint64_t slowwalk__pc(const struct slowwalk *w)
{
	return w->regs.v[slowwalk__machine(w)->pc];
}

static inline uint64_t slowwalk__sp(const struct slowwalk *w)
{
	return w->regs.v[slowwalk__machine(w)->sp];
}

static inline uint64_t slowwalk__fp(const struct slowwalk *w)
{
	return w->regs.v[slowwalk__machine(w)->fp];
}

static inline const struct mapping *slowwalk__map(const struct slowwalk *w, uint64_t addr)
{
	return mapping__holds(w->map, addr) ? w->map : process__find(w->process, addr);
}

#endif
