/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of walking a sample. */
#ifndef EVENT_TRACE_H
#define EVENT_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct mapping; /* process/process.h */

/* How a walk ended. X(id, value of the column `unwind`). Append only. */
#define UNWIND_STATUSES(X)                                                                  \
	X(ROOT, "root")		    /* reached the thread's first function */               \
	X(TRUNCATED, "truncated")   /* the snapshot ends before the stack does */           \
	X(NO_CFI, "no_cfi")	    /* no rule for a pc, and no valid frame pointer */      \
	X(NO_MAP, "no_map")	    /* a pc outside executable mappings */                  \
	X(BAD_MEMORY, "bad_memory") /* a rule reads outside the stack */                    \
	X(OTHER_STACK,                                                                      \
	  "other_stack") /* the callers are on another stack: signal stack, coroutine */    \
	X(NO_PROGRESS, "no_progress") /* the stack pointer did not move towards the root */ \
	X(LIMIT, "limit")	      /* more frames than TRACE_MAX */                      \
	X(COMPAT, "compat")	      /* a 32-bit process */                                \
	X(STITCHED, "stitched")	      /* reached it, with callers of an earlier stack */

#define X(id, ...) UNWIND_##id,
enum unwind_status { UNWIND_STATUSES(X) UNWIND_STATUS_CNT };
#undef X

#define TRACE_MAX 8192 /* frames; 1 MiB of stack in the smallest frames of compilers */

enum frame_flags {
	FRAME_CALLER = 1 << 0, /* pc is a return address: its place is pc - 1 */
	FRAME_SIGNAL = 1 << 1, /* a signal trampoline; the next frame was interrupted */
	FRAME_SCRIPT =
		1 << 2, /* a call of an interpreted program: pc is its index in trace.calls */
	FRAME_INTERPRETER = 1 << 3, /* the interpreter at work for such calls */
	FRAME_MANAGED = 1 << 4,	    /* code of a managed runtime that names its functions itself */
	FRAME_INTERPRETS = 1 << 5,  /* … its interpreter runs one: sp is the frame pointer */
};

/*
 * How a frame was found. X(id, value of the column `mark`). Without a mark the frame is exact;
 * before a frame with a mark a caller may be missing. Append only: <stacktrace.h> has the same
 * numbers.
 */
#define FRAME_SOURCES(X)                                                                          \
	X(BY_SAMPLE, NULL)	       /* the leaf */                                             \
	X(BY_CFI, NULL)		       /* by call-frame information of the previous frame */      \
	X(BY_POINTER, "frame_pointer") /* by the frame pointer: the previous frame has no CFI */  \
	X(BY_RETURN_ADDRESS, "guess")  /* by the word on top of the stack: the leaf has no CFI */ \
	X(BY_STITCH, "stitched")       /* it was in an earlier stack of the thread */             \
	X(BY_CODE, "decoded")	     /* by the instructions of the previous frame, without CFI */ \
	X(BY_LEAF_POINTER, "guess")  /* by the frame pointer, perhaps of the leaf's caller */     \
	X(BY_UNWINDING, "exception") /* the previous frame unwinds for an exception */

#define X(id, ...) FRAME_##id,
enum frame_source { FRAME_SOURCES(X) FRAME_SOURCE_CNT };
#undef X

struct frame {
	uint64_t pc; /* leaf: pc; caller: return address */
	/* The stack pointer: the CFA of the previous frame. On AArch64, at least that if the frame
	 * was found by frame pointer. */
	uint64_t sp;
	/* The mapping of pc, borrowed from the process; NULL: none. */
	const struct mapping *map;
	uint32_t flags;	 /* enum frame_flags */
	uint32_t source; /* enum frame_source */
};

/* A function of a program that an interpreter runs. */
struct script {
	const char *module, *name;     /* valid UTF-8; name NULL: it could not be read */
	uint64_t module_key, name_key; /* hashes, the same on every host */
};

struct script_call {
	const struct script *script; /* borrowed */
	const char *mark;	     /* runtime, and how the frame was placed; constant */
	uint32_t line;		     /* 0: unknown */
	uint32_t line_in;	     /* counted from the function's first line */
};

/* Owned by the caller and reused for each sample. Leaf first. */
struct trace {
	size_t cnt;
	enum unwind_status status;
	const struct script_call *calls; /* of frames with FRAME_SCRIPT; borrowed */
	/* Padding: several traces are written alternately, and their frames must not share sets of
	 * the cache. */
	uint8_t apart[680];
	struct frame frames[TRACE_MAX];
};

/* Returns the address inside the frame's instruction, by which symbols and lines are looked up. */
static inline uint64_t frame__place(const struct frame *f)
{
	return f->pc - ((f->flags & FRAME_CALLER) ? 1 : 0);
}

/* The call of a frame with FRAME_SCRIPT. */
static inline const struct script_call *trace__call(const struct trace *t, size_t frame)
{
	return &t->calls[t->frames[frame].pc];
}

#endif
