/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distinct stacks of recordings: each distinct frame once, each stack as a list of frames.
 * IDs of stacks are hashes of their content, so several recordings share one set.
 */
#ifndef STACKSEXPORT_MODEL_STACKSET_H
#define STACKSEXPORT_MODEL_STACKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/binary.h"
#include "stacksexport/model/keymap.h"

/* The kind of code of a function. The page uses the same numbers (docs/view-api.md). */
enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,
	FRAME_JIT,
	FRAME_LABEL,
	FRAME_INTERPRETER,
	FRAME_INLINED,
};

/* Names are IDs of the set's strings. */
struct function {
	uint32_t name, module; /* the module without its folders */
	enum frame_kind kind;
	bool is_library;
	uint16_t wait_traits; /* enum wait_trait */
};

struct model_frame {
	uint32_t function, path, build_id; /* path: the module as the process saw it */
	uint64_t address, offset, file_offset;
	bool has_file_offset;
	uint32_t file; /* of the line, or 0 */
	int32_t line;  /* that the recording has; 0: none */
};

struct stackset;

/* Returns NULL with errno set on failure. `binaries` is borrowed. */
struct stackset *stackset__new(struct binaries *);
void stackset__free(struct stackset *);

/* Adds a stack: its frames, leaf first, then its ID. Ignores a stack that was added before. */
void stackset__frame(struct stackset *, const struct named_frame *);
void stackset__stack(struct stackset *, uint64_t id);

/* Returns the frames of a stack, leaf first, as indexes; *cnt is 0 if it is unknown. */
const uint32_t *stackset__find(const struct stackset *, uint64_t id, size_t *cnt);
size_t stackset__cnt(const struct stackset *);

struct binaries *stackset__binaries(const struct stackset *);
const struct model_frame *stackset__frame_at(const struct stackset *, uint32_t index);
const struct function *stackset__function(const struct stackset *, uint32_t index);
size_t stackset__function_cnt(const struct stackset *);

/* Returns the function with that name and module, which is added if absent; KEYMAP_NONE if out of
 * memory. */
uint32_t stackset__add_function(struct stackset *, struct frame_text name, struct frame_text module,
				enum frame_kind);

/* Returns the index of the function with that name and module, or KEYMAP_NONE. */
uint32_t stackset__find_function(const struct stackset *, struct frame_text name,
				 struct frame_text module);

/* Returns the text of an ID: NUL-terminated, borrowed until the set is freed. */
struct frame_text stackset__text(const struct stackset *, uint32_t id);

int stackset__err(const struct stackset *); /* returns 0 or -ENOMEM */

#endif
