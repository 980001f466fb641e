/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads stacks in a result: columns that are lists of frames, leaf first. */
#ifndef STACKSEXPORT_DUCK_FRAMES_H
#define STACKSEXPORT_DUCK_FRAMES_H

#include "pprof/named_frame.h"
#include "stacksexport/duck/cells.h"

/* Fields of a frame in a result. The first FRAME_NEEDED must exist. */
enum frame_field {
	FRAME_NAME,
	FRAME_ADDRESS,
	FRAME_OFFSET,
	FRAME_MODULE,
	FRAME_BUILD_ID,
	FRAME_FILE_OFFSET,
	FRAME_LINE,
	FRAME_FILE,
	FRAME_FIELD_CNT,
};

#define FRAME_NEEDED FRAME_MODULE

/* A vector of stacks. */
struct frames {
	struct cells list, frame, fields[FRAME_FIELD_CNT];
};

/* Returns true for a list of structs that have the fields of a frame with their types. */
bool frames__is_stack(duckdb_logical_type);

/* Borrows `vector`, which has the type of a stack, as long as its chunk lives. */
struct frames frames__on(duckdb_vector vector);

/* Returns one text of a frame, or the whole frame. `at` is the place in the lists' elements. */
struct frame_text frames__text(const struct frames *, enum frame_field, idx_t at);
void frames__get(const struct frames *, idx_t at, struct named_frame *);

/* Calls `take` for each frame of a row, leaf first. Null is a stack without frames. */
void frames__each(const struct frames *, idx_t row,
		  void (*take)(const struct named_frame *, void *arg), void *arg);

#endif
