/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracepoint of the kernel: its number and its fields, as tracefs describes them. */
#ifndef CAPTURE_TRACEPOINT_H
#define CAPTURE_TRACEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/anyplace.h"

/*
 * Reads the tracepoint GROUP:NAME. `fields` are names with '+' between them, NULL: the first ones.
 * Fills names and arguments of the place, and *id for perf_event_open(2). Returns 0, or -errno
 * after logging what is wrong.
 */
int tracepoint__describe(struct any_place *, const char *fields, uint64_t *id);

/*
 * Parses the text of a `format` file. Returns the number of arguments, or -EINVAL with *wrong the
 * field that is not there. `users`: pointers are addresses in the memory of programs.
 */
struct tracepoint_wish {
	const char *fields;
	bool users;
};
int tracepoint__parse(const char *format, const struct tracepoint_wish *, struct any_place *,
		      const char **wrong);

#endif
