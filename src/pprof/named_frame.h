/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame that has been symbolized. */
#ifndef PPROF_NAMED_FRAME_H
#define PPROF_NAMED_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Not NUL-terminated; NULL where there is none. */
struct frame_text {
	const char *s;
	size_t sz;
};

/* One frame, as `stacktraces.frames` has it. Borrows its texts. */
struct named_frame {
	struct frame_text name, module, build_id;
	uint64_t address, offset; /* address + offset is the place, a link-time address in module */
	uint64_t file_offset;
	bool has_file_offset;
	bool has_start; /* without a name: the address is where its function begins */
};

/* Appends its name; when it has none module+0xaddress, of its function's start or else of the
 * place, without the module's folders. */
void named_frame__append(struct buf *, const struct named_frame *);

#endif
