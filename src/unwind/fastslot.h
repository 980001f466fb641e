/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One fast walk in progress. */
#ifndef UNWIND_FASTSLOT_H
#define UNWIND_FASTSLOT_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct cached_rule;
struct suffix_note;
struct suffix_stack;

enum fastwalk_end {
	FASTWALK_ROOT,	 /* done */
	FASTWALK_SWITCH, /* done: the callers are on another stack, at an unknown address */
	FASTWALK_CUT,	 /* done: the snapshot ends before the return address */
	FASTWALK_NO_CFI, /* no table has a rule for the slot's frame: no file, or no CFI */
	FASTWALK_ODD,	 /* no packed rule, or one that fails: redo the walk with slowwalk */
};

/*
 * One walk in progress. Holds the registers of the next frame; the trace holds the frames walked so
 * far. The walk can be resumed after a frame that the fast walk could not unwind.
 */
struct fastwalk_slot {
	void *arg; /* for the caller; not used here */
	const struct process *process;
	const struct snapshot *snapshot;
	struct trace *trace;
	const struct mapping *map; /* mapping of the previous frame, or NULL */
	uint64_t code_bits;	   /* mask of the address bits in a return address */
	uint64_t pc, sp, fp;
	uint64_t top;	/* if the snapshot was truncated: end of the stack addresses; else 0 */
	uint64_t link;	/* link register, for a leaf or a frame that a signal interrupted */
	uint32_t flags; /* of the next frame; see struct frame */
	uint32_t source;
	bool pointers; /* follow frame pointers in code without a file: it has no CFI */
	bool idle;     /* skip the fast walk; ends with FASTWALK_ODD */
	bool resumed;
	enum fastwalk_end end;
	/* private */
	struct frame *frame, *past; /* in the trace: the next frame, and the end of the array */
	uint64_t start, sz;	    /* of .map */
	uint64_t base, key;	    /* rule key = place + base, for places in .map */
	struct cached_rule *cached; /* cache slot that may hold the frame's rule */
	const uint8_t *bytes;	    /* the snapshot's bytes */
	uint64_t addr;		    /* stack address of bytes[0] */
	uint64_t words_end;	    /* words start below this offset; 0: the snapshot has holes */
	const uint8_t *pc_from,
		*fp_from; /* where the registers are stored: in the snapshot or in this slot */
	struct suffix_note *notes, *note;  /* one per frame of the trace; the next one */
	struct suffix_stack *cached_stack; /* frames cached by earlier walks, or NULL */
	uint64_t suffix_sp;		   /* check the suffix cache once sp reaches this */
	size_t suffix_idx;		   /* index in .cached_stack of the frame to compare next */
	bool from_cache; /* the rest of the trace was copied from the suffix cache */
};

/* Resumes the walk at a caller that the slow walk found. The caller is not in the trace yet. */
static inline void fastwalk_slot__resume(struct fastwalk_slot *l, const struct frame *caller,
					 uint64_t fp)
{
	l->resumed = true;
	l->flags = FRAME_CALLER;
	l->source = caller->source;
	l->pc = caller->pc;
	l->sp = caller->sp;
	l->fp = fp;
}

/* After FASTWALK_SWITCH: resumes on the stack that was active before the switch. Returns false if
 * the sample has no snapshot of it, or the walk is on it already. */
static inline bool fastwalk_slot__resume_other_stack(struct fastwalk_slot *l,
						     const struct other_stack *before)
{
	if (!before->stack.sz || l->snapshot == &before->stack)
		return false;
	l->snapshot = &before->stack;
	l->resumed = true;
	l->flags = 0;
	l->source = FRAME_BY_CFI;
	l->pc = before->pc;
	l->sp = before->sp;
	l->fp = before->fp;
	l->link = before->link;
	return true;
}

#endif
