/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a slow walk, and what its steps share: addresses, rules of a place, and the return
 * to a caller. */
#ifndef UNWIND_SLOWWALK_STATE_H
#define UNWIND_SLOWWALK_STATE_H

#include "cfi/libdwrules.h"
#include "cfi/regs.h"
#include "elf/code.h"
#include "event/sample.h"
#include "event/trace.h"
#include "jit/jitcfi.h"
#include "process/managed.h"
#include "process/process.h"

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

#define SLOWWALK_GO_ON UNWIND_STATUS_CNT       /* result of a step: there is a next frame */
#define SLOWWALK_STAY  (UNWIND_STATUS_CNT + 1) /* result of a method: it does not apply */

#define ADDRESS_MIN 0x10000 /* vm.mmap_min_addr's default */

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

static inline uint64_t slowwalk__snapshot_end(const struct slowwalk *w)
{
	return w->stack->addr + w->stack->sz;
}

/* Includes the bytes before the snapshot that the leaf has not touched yet. */
static inline bool slowwalk__in_snapshot(const struct slowwalk *w, uint64_t sp)
{
	return sp - w->low <= slowwalk__snapshot_end(w) - w->low;
}

/* Returns whether the page was not in memory: a page between others, or the stack pointer's own
 * page (while the kernel copies it at the first write after a fork). */
static inline bool slowwalk__lacks(const struct slowwalk *w, uint64_t addr)
{
	return slowwalk__in_snapshot(w, addr) &&
	       ((addr < w->stack->addr && w->stack->sz) || snapshot__lacks(w->stack, addr));
}

static inline bool slowwalk__is_stack_like(const struct slowwalk *w, uint64_t addr)
{
	return addr % 8 == 0 && addr >= ADDRESS_MIN && addr < slowwalk__machine(w)->stack_end;
}

/* Returns the rules for a frame's place and sets its link-time address; NULL: there are none. */
struct libdw_rules *slowwalk__find_cfi(struct slowwalk *, const struct frame *, uint64_t *vaddr);

/* Returns what `is` returns for the code before an address, or `other` if there is no file. */
bool slowwalk__is_behind(struct slowwalk *, uint64_t addr, cfi_text_fn is, bool other);

/* Makes the caller the current frame. Returns SLOWWALK_GO_ON. */
enum unwind_status slowwalk__return_to(struct slowwalk *, uint64_t pc, uint64_t sp);

#endif
