/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf-PID.map: a text in which a runtime says where its functions are, one a line, without times.
 */
#ifndef JIT_PERFMAP_H
#define JIT_PERFMAP_H

#include <sys/types.h>

#include "jit/codemap.h"

/* How far a file has been read. */
struct perfmap {
	uint64_t off;
	bool in_long_line; /* its beginning was passed over */
	uint8_t last[32];  /* bytes before off, as far as there are so many */
	bool overflowed;   /* it had more functions than are kept: the newest are */
};

/*
 * Adds what the file has now and did not have before, some 64 MB at a time: while .off has grown
 * there may be more. The last line only when it is whole: its writer may be at it. 0; -ESTALE when
 * it is not the file that was begun, but another text in its place; -errno of reading, or of
 * codemap__add(). Where there is no room the oldest functions go.
 */
int perfmap__read(struct perfmap *, int fd, struct codemap *);

/* One line without its end: "START SIZE NAME", hexadecimal. False when it is none. Writes to it. */
bool perfmap__line(char *line, struct code *);

#endif
