/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracks the processes of a stream and unwinds their stacks. */
#ifndef STACKTRACE_UNWINDING_H
#define STACKTRACE_UNWINDING_H

#include "event/trace.h"
#include "formats/item.h"
#include "process/process.h"
#include "stacktrace/stacktrace_options.h"
#include "jit/jit.h"

struct unwinding;

/* Returns NULL on failure (already logged). `live`: records arrive as they happen, so /proc can
 * supply mappings that they lack. */
struct unwinding *unwinding__new(const struct filter_options *, bool live);
void unwinding__free(struct unwinding *);

/* Returns the processes that read files, or NULL; borrowed until unwinding__free(). */
struct workers *unwinding__workers(const struct unwinding *);
/* Returns what names JIT code, borrowed until unwinding__free(). */
struct jit *unwinding__jit(const struct unwinding *);

/* Applies a process record or an overlay. Call in time order. */
void unwinding__apply(struct unwinding *, const struct item *);

#define UNWINDING_MAX 32 /* samples walked together */

/* Receives the user-space frames of the nth sample, valid until it returns. NULL: no user-space
 * frames (a kernel thread). */
typedef void (*unwound_fn)(void *arg, size_t nth, const struct trace *);

/*
 * Walks up to UNWINDING_MAX samples that have stacks, in order. Blocks until the tables that they
 * need are ready.
 */
void unwinding__walk(struct unwinding *, const struct item *, size_t cnt, unwound_fn, void *arg);

/* Returns the frames of a recorded call chain, starting at entry `from`. Valid until the next call.
 */
const struct trace *unwinding__look_up(struct unwinding *, const struct item *, size_t from);

void unwinding__debug(const struct unwinding *);     /* logs statistics */
size_t unwinding__pending(const struct unwinding *); /* files being read or downloaded */

#endif
