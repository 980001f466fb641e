/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes frames for the rows of `stacktraces`. Stacks of one program have most of their frames
 * in common, so descriptions are cached per batch.
 */
#ifndef STACKS_ROWFRAMES_H
#define STACKS_ROWFRAMES_H

#include "stacks/symbolizer.h"
#include "event/trace.h"
#include "process/process.h"
#include "store/recording.h"
#include "symbol/kernelid.h"

/* The place of a frame in its file. */
struct location {
	const struct mapping *map;
	uint64_t place;	   /* address in the process */
	uint64_t file_off; /* of place */
	uint64_t vaddr;	   /* link-time address; valid with has_vaddr */
	bool has_vaddr;
};

struct location location__of(const struct frame *);
bool location__is_anonymous(
	const struct location *); /* true if the code is in no file that has a name */
const char *location__module(const struct location *);

#define JIT_MODULE "[jit]"

struct row_frames;

/* Borrows both arguments. Returns NULL and sets errno on failure. */
struct row_frames *row_frames__new(struct recording *, struct symbolizer *);
void row_frames__free(struct row_frames *);
void row_frames__set_kernel(struct row_frames *, struct kallsyms *); /* borrowed; NULL: no names */

/*
 * Describes a frame. Returns false if a job must find its name; row_frames__name() then adds it.
 * `jit`: the process may publish a name for this place.
 */
bool row_frames__user(struct row_frames *, const struct frame *, bool jit, struct stack_frame *out);
void row_frames__name(struct row_frames *, struct stack_frame *);
/* Describes the functions that are inlined at the place of a named frame, the innermost first, and
 * returns their number. A frame with some is never described at once: it waits for the job. */
size_t row_frames__inlined(struct row_frames *, const struct stack_frame *,
			   struct row_frame out[CODE_LINES_MAX]);

/* Describes a call of an interpreted program, about which everything is known. */
void row_frames__script(struct row_frames *, const struct script_call *, struct stack_frame *out);

void row_frames__kernel(struct row_frames *, uint64_t place, struct row_frame *out);

#endif
