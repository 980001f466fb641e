/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector needs from a runtime that compiles code, to walk and name that code. */
#ifndef RUNTIME_CODEWALK_H
#define RUNTIME_CODEWALK_H

#include "process/managed.h"
#include "runtime/codeblob.h"
#include "runtime/remote.h"

struct runtime_layout;

#define CODE_RANGES_MAX 8

/* The places in a process that have such code. */
struct code_ranges {
	size_t cnt;
	struct {
		uint64_t start, end;
	} at[CODE_RANGES_MAX];
};

/* A request to read the code at an address, unless it is still the code that was read before. */
struct code_wanted {
	uint64_t pc;
	uint64_t header; /* of struct code_blob; 0: none was known */
	uint32_t id;
	/* Not 0: the bytecode there, and what may lead to its function. */
	uint64_t hint, other_hint;
};

struct code_walk {
	const struct managed_query *query;
	/* Returns the code at a place, or NULL: there is none, or it is being read. */
	const struct code_blob *(*find)(struct code_walk *, uint64_t pc);
	/* Like .find, for bytecode. */
	const struct code_blob *(*find_function)(struct code_walk *, const struct code_wanted *);
	const struct runtime_layout *layout;
	bool awaits; /* some is being read */
};

struct event;

/* The functions of a runtime that makes code. */
struct runtime_code {
	/* Values of the column `mark`. */
	const char *interpreted, *baseline, *compiled, *inlined, *native;
	const char *elsewhere; /* for a frame that stands for some that are not on the stack */
	/* In place of runtime.locate, which see. */
	int (*layout)(struct remote *, const uint64_t *symbols, struct runtime_layout *);
	/* For jobs. Returns 0 or -errno. NULL: code is in all executable memory without a file, and
	 * in the runtime's own file where that has no call-frame information. */
	int (*ranges)(struct remote *, const struct runtime_layout *, struct code_ranges *);
	/* For jobs. Fills the blob, which is cleared. Returns 0; -EALREADY if it still is the
	 * wanted one; or -errno. */
	int (*read)(struct remote *, const struct runtime_layout *, const struct code_wanted *,
		    struct code_blob *);
	/* Moves to the caller of a frame in such code. */
	enum managed_result (*step)(struct code_walk *, struct managed_frame *);
	/* For a runtime with bytecode in place of the next two: finds what a frame with that frame
	 * pointer runs, if it runs any; and the place in it, for code_blob__scope(). */
	bool (*bytecode)(const struct runtime_layout *, const struct snapshot *, uint64_t fp,
			 struct code_wanted *);
	uint64_t (*place)(const struct runtime_layout *, const struct snapshot *,
			  const struct frame *, const struct code_blob *);
	/* Finds which function runs in a frame with FRAME_INTERPRETS; returns false if unknown. */
	bool (*function)(const struct snapshot *, const struct frame *, uint64_t *code);
	/* Returns the address of its instruction that is executed, or 0: by the event's registers,
	 * if the frame is the leaf and they may have it; or NULL, by the stack. */
	uint64_t (*instr)(const struct runtime_layout *, const struct event *,
			  const struct snapshot *, const struct frame *);
};

#endif
