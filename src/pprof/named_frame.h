/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame that has been symbolized. */
#ifndef PPROF_NAMED_FRAME_H
#define PPROF_NAMED_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* A text without a terminating NUL. `s` may be NULL if it is empty. */
struct frame_text {
	const char *s;
	size_t sz;
};

/* One frame, with the fields of `stacktraces.frames`. Borrows its texts. */
struct named_frame {
	struct frame_text name, module, build_id;
	struct frame_text file;	  /* of the line; empty: `module` is it */
	uint64_t address, offset; /* their sum is the place, a link-time address in module */
	uint64_t file_offset;
	bool has_file_offset;
	bool has_start; /* true if `address` is the start of a function without a name */
	int32_t line;	/* in the source; 0: none */
};

/*
 * Returns `name` without the suffixes that the compiler appends to copies and parts of a function:
 * `.constprop.0`, `.isra.0`, `.part.0`, `.cold`, and ` [clone .cold]`, as demanglers write it.
 * Viewers show the text after the last dot or blank, which would then be the suffix.
 */
struct frame_text frame_text__function(struct frame_text name);

/* Appends the name of the frame (frame_text__function()), or module+0xaddress if it has none. The
 * address is the start of its function, or the place if the start is unknown. The module is printed
 * without its folders. */
void named_frame__append(struct buf *, const struct named_frame *);

#endif
