/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace in Chrome's JSON format, event by event, as chrome://tracing and Perfetto's viewer
 * read it. Errors stick: tracefile__close() says what went wrong.
 */
#ifndef STACKSEXPORT_TRACE_TRACEFILE_H
#define STACKSEXPORT_TRACE_TRACEFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "stacksexport/trace/stacktree.h"

struct tracefile;

/* `gz`: compressed. NULL + errno. */
struct tracefile *tracefile__open(const char *path, bool gz);

/* Appends an event: JSON without the braces around it. */
struct buf *tracefile__begin(struct tracefile *);
void tracefile__end(struct tracefile *);

/*
 * Writes what follows the events: the frames of their stacks, and `other`, pairs of a name and a
 * text that ends with NULL; then closes and frees. 0 or -errno.
 */
int tracefile__close(struct tracefile *, const struct stacktree *, const char *const *other);

#endif
