/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of perf-PID.map, a text in which a runtime lists its functions: one per line, without
 * times.
 */
#ifndef JIT_PERFMAP_H
#define JIT_PERFMAP_H

#include "jit/codelist.h"

/*
 * Adds the functions of a part of the file to the list until it is full. Skips an incomplete last
 * line, which the runtime may still be writing. Returns 0, -ESTALE if the file has been replaced by
 * another text, or the -errno of reading.
 */
int perfmap__read(struct code_progress *, const struct code_part *, struct code_list *);

/* Parses one line without its end: "START SIZE NAME", in hexadecimal. Modifies the line. Returns
 * false if it is malformed. */
bool perfmap__line(char *line, struct code *);

#endif
