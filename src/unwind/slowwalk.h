/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slow walk: one frame at a time, with all registers and all rules, and heuristics for code
 * without rules. */
#ifndef UNWIND_SLOWWALK_H
#define UNWIND_SLOWWALK_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/managed.h"
#include "process/process.h"
#include "jit/jitcfi.h"
#include "cfi/regs.h"

struct slowwalk {
	const struct process *process;
	const struct sample *sample;
	const struct snapshot *stack; /* the stack of the sample that the walk is on */
	struct trace *trace;
	struct regs regs;	   /* of the current frame */
	uint32_t flags, source;	   /* of the next frame */
	const struct mapping *map; /* of the current frame */
	uint64_t code_bits;	   /* address bits of a return address */
	/* Start of the stack: before the snapshot if that lacks pages. */
	uint64_t low;
	/* The signal frame's stack pointer, if the current frame was interrupted. */
	uint64_t signal_sp;
	/* A table has no rule for the current frame. */
	bool bare;
	struct jit_cfi *jit;
	struct managed_code managed; /* .step NULL: none */
	struct jobs *jobs;	     /* read files; NULL: files are read at once */
	bool patient;		     /* end the walk at a file that is being read */
	bool awaits;
	bool coded; /* the current frame has a rule derived from instructions */
};

#define SLOWWALK_GO_ON UNWIND_STATUS_CNT /* result of a step: there is a next frame */

/*
 * Steps from a frame with pc and flags to the next one; also sets the frame's mapping. On success
 * the walk's registers, flags and source are those of the next frame. Otherwise returns how the
 * walk ends.
 */
enum unwind_status slowwalk__step(struct slowwalk *, struct frame *);

static inline const struct machine *slowwalk__machine(const struct slowwalk *w)
{
	return w->sample->machine;
}

/* Continues on one of the sample's stacks. */
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
