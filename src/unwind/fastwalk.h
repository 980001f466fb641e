/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The short way up a stack: frame by frame through the files' tables, with three registers. No
 * allocation, no lock, no system call.
 */
#ifndef UNWIND_FASTWALK_H
#define UNWIND_FASTWALK_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"
#include "unwind/suffixcache.h"
#include "unwind/rulecache.h"

struct fastwalk;

struct fastwalk *fastwalk__new(struct table_cache *, struct jobs *); /* see table_store__new() */
void fastwalk__free(struct fastwalk *);

struct table_store *fastwalk__tables(struct fastwalk *);

enum fastwalk_end {
	FASTWALK_ROOT,	 /* done */
	FASTWALK_SWITCH, /* done: the callers are on another stack, nothing says where */
	FASTWALK_CUT,	 /* done: the snapshot ends before the return address */
	FASTWALK_NO_CFI, /* no table knows the frame in the lane: it is in no file, or without CFI
			  */
	FASTWALK_ODD,	 /* no flat rule, or one that leads nowhere: walk all of it the long way */
};

/*
 * A walk under way: the frame that is next, and what has been walked already is in the trace. May
 * go on behind what was in its way.
 */
struct fastwalk_slot {
	void *arg; /* the caller's own */
	const struct process *process;
	const struct snapshot *snapshot;
	struct trace *trace;
	const struct mapping *map; /* of the frame before; NULL: none */
	uint64_t code_bits;	   /* of a return address */
	uint64_t pc, sp, fp;
	uint64_t top; /* stacks are below it, and this one goes on past its snapshot; 0: it does not
		       */
	uint64_t link;	/* the link register, of a leaf and of what a signal interrupted */
	uint32_t flags; /* of the frame that is next, as struct frame has them */
	uint32_t source;
	bool pointers; /* code without a file has no CFI: callers there are found by frame pointer
			*/
	bool idle;     /* not to be walked this way: FASTWALK_ODD */
	bool resumed;
	enum fastwalk_end end;
	/* private */
	struct frame *frame, *past; /* of the trace: the one that is next, the end */
	uint64_t start, sz;	    /* of the mapping */
	uint64_t base, key;	    /* of rules in it: a place and the base make the key */
	struct cached_rule *cached; /* where the frame's rule may be */
	const uint8_t *bytes;	    /* of the snapshot */
	uint64_t addr;		    /* of its first byte */
	uint64_t words_end; /* words of it begin before this place; 0: its pages have holes */
	const uint8_t *pc_from, *fp_from; /* where these registers are: in it, or in the lane */
	struct suffix_note *notes, *note; /* of each frame in the trace; the next one */
	struct suffix_stack *known;	  /* what earlier walks found; NULL: nothing */
	uint64_t joint;			  /* the stack pointer from which on this may be of use */
	size_t met;			  /* the frame of .known that has it */
	bool recalled;			  /* the trace goes on with that one */
};

#define FASTWALK_SLOTS 16

/* Walks up to FASTWALK_SLOTS stacks, a frame of each in turn: while one waits for memory the others
 * go on. */
void fastwalk__go(struct fastwalk *, struct fastwalk_slot *, size_t cnt);

/* Whether the short way gets on from a caller at a place in the mapping; asks for the table. */
bool fastwalk__knows(struct fastwalk *, const struct mapping *, uint64_t place);

/* Whether one says that there is none. */
bool fastwalk__lacks(struct fastwalk *, const struct mapping *, uint64_t place);

/*
 * There the callers of callers are found by frame pointer, for lack of CFI: from now on by the
 * short way, too. The place is one that no table has a rule for.
 */
void fastwalk__learn(struct fastwalk *, const struct mapping *, uint64_t place);

/* Goes on from a caller that was found otherwise, which is not in the trace yet. */
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

/* Behind FASTWALK_SWITCH: to the stack from which this one was switched to. False: it is not there.
 */
static inline bool fastwalk_slot__go_back(struct fastwalk_slot *l, const struct other_stack *before)
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
	return true;
}

/* Looks at all files that the trace goes through: the next walk finds their rules. */
void fastwalk__ask(struct fastwalk *, const struct trace *);

#endif
