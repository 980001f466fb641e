/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreters and managed runtimes. Each is one row of a table: how a process is recognised,
 * where BPF finds a thread's calls, how these are split, and how functions are named. No other
 * code depends on a particular runtime (docs/adding-a-runtime.md).
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "bpf/config.h"
#include "elf/namedsymbol.h"
#include "event/sample.h"
#include "runtime/codewalk.h"
#include "runtime/remote.h"
#include "runtime/script.h"

#define RUNTIME_OFFSETS 49
#define RUNTIME_WAITS	2
#define RUNTIME_SYMBOLS 96 /* at most */

/* The positions of the fields in a version of a runtime, as the row of the runtime defines them. */
struct runtime_layout {
	const struct runtime *runtime;
	uint64_t code_mask; /* see struct capture_runtime */
	uint64_t heaps;	    /* address of the code's heaps, or of what the row needs */
	/* Not 0: inode of the runtime's file. `heaps` then counts from where that is mapped first,
	 * because processes have it at different addresses. */
	uint64_t file;
	uint32_t cookie_off, cookie[3]; /* or RUNTIME_NO_COOKIE */
	uint32_t version;		/* of the runtime, in its own notation */
	uint32_t at[RUNTIME_OFFSETS];	/* bytes */
	/* See struct runtime; empty: unknown. */
	struct elf_symbol_code evaluator, waits[RUNTIME_WAITS];
};

#define RUNTIME_NO_COOKIE UINT32_MAX

_Static_assert(sizeof(struct runtime_layout) == 100 + 4 * RUNTIME_OFFSETS, "compared as bytes");

/* The calls of a thread, innermost first, as BPF has read them. */
struct runtime_calls {
	const struct runtime_layout *layout;
	const struct snapshot *stack;
	const struct trace *trace; /* native frames */
	uint64_t base;		   /* see struct event_runtime */
	size_t cnt;
	bool cut; /* there are more */
	const struct event_call *calls;
};

/* Calls that one activation of the interpreter's C function runs, innermost first. */
struct runtime_run {
	size_t first, cnt;
	uint64_t anchor; /* an address in that activation's native frame; 0: unknown */
	uint64_t entry;	 /* the C function that the innermost call is; 0: it is none */
};

/* A function to read, as a call identifies it. */
struct function_wanted {
	uint64_t code, cookie;
	struct event_call description; /* all 0: none */
};

struct stack_part {
	uint64_t low, high;
};

/* A function, and which mapped files may have its code. */
struct runtime_place {
	const char *symbol; /* NULL: none */
	bool (*may_have)(const char *file);
};

/* The calls are in a list, which BPF reads at the event (.split), or in frames of the runtime's
 * own code, which are walked afterwards (.code). With both, .code only steps out of such code. */
struct runtime {
	const char *name;     /* in --runtimes, and the column `mark` of frames placed by address */
	const char *by_order; /* `mark` of frames placed by order */
	const char *gone;     /* `mark` of frames with a function that cannot be read any more */
	struct script unknown; /* those: only a module */
	/* In an ELF file that processes map; without the first one it is not this runtime's. */
	const char *const *symbols; /* at most RUNTIME_SYMBOLS; terminated by NULL */
	/* Returns true if a mapped file of this name (without folders) may have the symbols. */
	bool (*may_have)(const char *file);
	/*
	 * Finds the layout, and where a thread's calls are, from the symbols' addresses (0: none).
	 * Returns 0, -EAGAIN if the runtime has not started yet, or -ENOTSUP for an unknown
	 * version, which is in layout->version then. NULL: .code->layout does that, and BPF reads
	 * nothing.
	 */
	int (*locate)(struct remote *, const uint64_t *symbols, struct runtime_layout *,
		      struct capture_runtime *);
	/* Splits calls into at most calls->cnt + 1 runs. Returns how many. */
	size_t (*split)(const struct runtime_calls *, struct runtime_run *runs);
	/* Returns true for a frame that only links others, which .split leaves out. NULL: those
	 * without code. */
	bool (*is_link)(const struct runtime_layout *, const struct event_call *);
	/* Reads a function. Returns 0, or -errno if it is none. */
	int (*read)(struct remote *, const struct runtime_layout *, uint64_t code,
		    struct script_function *);
	/* In place of .read, where the cookie alone identifies a function: a call may be followed
	 * by a description (CAPTURE_PHP_DESCRIBED). */
	int (*read_described)(struct remote *, const struct runtime_layout *,
			      const struct function_wanted *, struct script_function *);
	/* Returns the place in a function's code that a call executes. NULL: event_call.instr. */
	uint64_t (*instr)(const struct runtime_layout *, const struct event_call *);
	/* Returns the innermost call's .instr by the event's registers, if they have it. Or NULL.
	 */
	uint64_t (*leaf_instr)(const struct event *, const struct event_call *);
	/* Reads the function's cookie. NULL: it is made of the layout's words. */
	uint64_t (*cookie)(struct remote *, uint64_t code);
	bool in_file;	 /* layout->file is set */
	bool has_core;	 /* the callee of an activation is the interpreter, too */
	bool keeps_name; /* a call at an unknown place of its function loses only its line */
	const struct runtime_code *code; /* or NULL */
	/* The C function that runs calls, where .split needs it. */
	struct runtime_place evaluator;
	/* The C functions in which a thread waits for its turn if the interpreter calls them, and
	 * what stands for that in its stack. */
	struct runtime_place waits[RUNTIME_WAITS];
	struct script waiting;
	/* Returns whether it is its turn that the thread waits for, by the part of the stack
	 * that belongs to such a function. NULL: always. */
	bool (*waits_for_turn)(const struct runtime_layout *, const struct snapshot *,
			       struct stack_part);
	/* Returns true for a function of the runtime's own that no view shows. */
	bool (*is_hidden)(const struct script *);
	/* Formats a version for a message. */
	void (*print_version)(uint32_t version, char *text, size_t sz);
};

/* Terminated by NULL. */
extern const struct runtime *const runtimes_table[];

/* Returns true for a file name of the C library. */
bool runtime__is_c_library(const char *file);

/* Calls .locate or .code->layout. */
int runtime__locate(struct remote *, const uint64_t *symbols, struct runtime_layout *,
		    struct capture_runtime *);

extern const struct runtime cpython, hotspot, v8, ruby, php;

#endif
