/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rows of `stacktraces` say of frames. Stacks of one program have most of their frames in
 * common: what a batch knows of a place is said again at once.
 */
#ifndef STACKS_ROWFRAMES_H
#define STACKS_ROWFRAMES_H

#include "stacks/symbolizer.h"
#include "event/trace.h"
#include "process/process.h"
#include "store/recording.h"
#include "symbol/kernelid.h"

/* Where a frame lies, from its file's view. */
struct location {
	const struct mapping *map;
	uint64_t place;	   /* address in the process */
	uint64_t file_off; /* of place */
	uint64_t vaddr;	   /* link-time address; valid with has_vaddr */
	bool has_vaddr;
};

struct location location__of(const struct frame *);
bool location__is_anonymous(const struct location *); /* in no file that has a name */
const char *location__module(const struct location *);

#define JIT_MODULE "[jit]"

struct row_frames;

/* Both are borrowed. NULL + errno. */
struct row_frames *row_frames__new(struct recording *, struct symbolizer *);
void row_frames__free(struct row_frames *);
void row_frames__set_kernel(struct row_frames *, struct kallsyms *); /* borrowed; NULL: no names */

/*
 * Describes a frame. False: its name has to be asked for by a job, after which row_frames__name()
 * adds it. `jit`: its process may have said what is there.
 */
bool row_frames__user(struct row_frames *, const struct frame *, bool jit, struct stack_frame *out);
void row_frames__name(struct row_frames *, struct stack_frame *);

/* A call of an interpreted program: all is known of it. */
void row_frames__script(struct row_frames *, const struct script_call *, struct stack_frame *out);

void row_frames__kernel(struct row_frames *, uint64_t place, struct row_frame *out);

#endif
