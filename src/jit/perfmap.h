/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of perf-PID.map, a text in which a runtime lists its functions: one per line, without
 * times.
 */
#ifndef JIT_PERFMAP_H
#define JIT_PERFMAP_H

#include <sys/types.h>

#include "jit/codemap.h"

/* How far a file has been read. */
struct perfmap {
	uint64_t off;
	bool in_long_line; /* the start of the line was skipped */
	uint8_t last[32];  /* the bytes before off, if there are so many */
	bool overflowed;   /* it had too many functions; the newest are kept */
};

/*
 * Adds the functions that were appended to the file since the last call, from at most some 64 MB;
 * if .off has grown there may be more. Skips an incomplete last line, which the runtime may still
 * be writing. Drops the oldest functions if there is no room. Returns 0, -ESTALE if the file has
 * been replaced by another text, or the -errno of reading or of codemap__add().
 */
int perfmap__read(struct perfmap *, int fd, struct codemap *);

/* Parses one line without its end: "START SIZE NAME", in hexadecimal. Modifies the line. Returns
 * false if it is malformed. */
bool perfmap__line(char *line, struct code *);

#endif
