/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a trace in Chrome's JSON format, event by event, for chrome://tracing and Perfetto.
 * Errors are sticky: tracefile__close() returns the first. */
#ifndef STACKSEXPORT_TRACE_TRACEFILE_H
#define STACKSEXPORT_TRACE_TRACEFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "stacksexport/trace/stacktree.h"

struct tracefile;

/* `gz`: compress. Returns NULL and sets errno on failure. */
struct tracefile *tracefile__open(const char *path, bool gz);

/* Appends an event, given as JSON without its braces. */
struct buf *tracefile__begin(struct tracefile *);
void tracefile__end(struct tracefile *);

/* Writes the frames of the events' stacks, and `other`: pairs of a name and a text, terminated by
 * NULL. Then closes and frees the file. Returns 0 or -errno. */
int tracefile__close(struct tracefile *, const struct stacktree *, const char *const *other);

#endif
