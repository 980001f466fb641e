/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unwinder makes of a sample. */
#ifndef EVENT_TRACE_H
#define EVENT_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct mapping; /* process/process.h */

/* How a walk ended. X(id, value of the column `unwind`). Append only. */
#define UNWIND_STATUSES(X)                                                                    \
	X(ROOT, "root")		    /* reached the thread's first function */                 \
	X(TRUNCATED, "truncated")   /* the snapshot ends before the stack does */             \
	X(NO_CFI, "no_cfi")	    /* no rule for a pc, and its frame pointer led nowhere */ \
	X(NO_MAP, "no_map")	    /* a pc in no executable mapping */                       \
	X(BAD_MEMORY, "bad_memory") /* a rule reads memory that is no stack */                \
	X(OTHER_STACK,                                                                        \
	  "other_stack") /* the callers are on another stack: signal stack, coroutine */      \
	X(NO_PROGRESS, "no_progress") /* the stack pointer did not move towards the root */   \
	X(LIMIT, "limit")	      /* more frames than TRACE_MAX */                        \
	X(COMPAT, "compat")	      /* a 32-bit process */                                  \
	X(STITCHED, "stitched")	      /* reached it by callers of an earlier stack */

#define X(id, ...) UNWIND_##id,
enum unwind_status { UNWIND_STATUSES(X) UNWIND_STATUS_CNT };
#undef X

#define TRACE_MAX 8192 /* frames; 1 MiB of stack in the smallest frames that compilers make */

enum frame_flags {
	FRAME_CALLER = 1 << 0, /* pc is a return address: its place is pc - 1 */
	FRAME_SIGNAL = 1 << 1, /* a signal trampoline; the next frame was interrupted */
	FRAME_SCRIPT =
		1 << 2, /* a call of an interpreted program: pc is its index in trace.calls */
	FRAME_INTERPRETER = 1 << 3, /* the interpreter at work for such calls */
};

/*
 * How a frame was found. X(id, value of the column `mark`). Without a mark it is exact; behind a
 * mark a caller may be missing. Append only: <stacktrace.h> has the same numbers.
 */
#define FRAME_SOURCES(X)                                                                          \
	X(BY_SAMPLE, NULL)	       /* the leaf */                                             \
	X(BY_CFI, NULL)		       /* by call-frame information of the frame before it */     \
	X(BY_POINTER, "frame_pointer") /* by the frame pointer: the frame before it has none */   \
	X(BY_RETURN_ADDRESS, "guess")  /* the leaf has none: what is on top of its stack */       \
	X(BY_STITCH, "stitched")       /* it was there in an earlier stack of the thread */       \
	X(BY_CODE, "decoded")	       /* by the instructions of the frame before it, which has   \
					  no call-frame information */                            \
	X(BY_LEAF_POINTER, "guess")  /* by the frame pointer, which may be the leaf's caller's */ \
	X(BY_UNWINDING, "exception") /* behind a function that an exception is leaving frames     \
					by: those that it leaves may be missing */

#define X(id, ...) FRAME_##id,
enum frame_source { FRAME_SOURCES(X) FRAME_SOURCE_CNT };
#undef X

struct frame {
	uint64_t pc; /* leaf: pc; caller: return address */
	uint64_t sp; /* its stack pointer: the CFA of the frame before it; on AArch64 not
			less than this, when found by frame pointer */
	const struct mapping *map; /* where pc lies; NULL when nowhere; borrowed from the process */
	uint32_t flags;		   /* enum frame_flags */
	uint32_t source;	   /* enum frame_source */
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

/* Owned by the caller, reused for every sample. Leaf first. */
struct trace {
	size_t cnt;
	enum unwind_status status;
	const struct script_call *calls; /* of frames with FRAME_SCRIPT; borrowed */
	uint8_t apart[680]; /* several are written in turns: frames at odds with the cache's sets */
	struct frame frames[TRACE_MAX];
};

/* The address inside the instruction that frame is at: what symbols and lines are looked up by. */
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
