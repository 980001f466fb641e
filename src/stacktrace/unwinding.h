/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of a stream, and the walks up their stacks. */
#ifndef STACKTRACE_UNWINDING_H
#define STACKTRACE_UNWINDING_H

#include "event/trace.h"
#include "formats/item.h"
#include "process/process.h"
#include "stacktrace/stacktrace_options.h"
#include "jit/jitfile.h"

struct unwinding;

/* `live`: records come as they happen, so that /proc may know what they do not say. NULL after
 * saying why. */
struct unwinding *unwinding__new(const struct options *, bool live);
void unwinding__free(struct unwinding *);

/* Who can be asked for names of code that processes have made. Lives as long as the unwinding. */
const struct jit_places *unwinding__jit_places(const struct unwinding *);

/* What a record says of processes, in the order of time. */
void unwinding__apply(struct unwinding *, const struct item *);

#define UNWINDING_MAX 32 /* samples that are walked together */

/* With the user-space frames of the sample that was the nth, until it returns; NULL: the thread has
 * none (the kernel's own). */
typedef void (*unwound_fn)(void *arg, size_t nth, const struct trace *);

/*
 * Up to UNWINDING_MAX samples that have stacks, in their order. Waits for tables that they need:
 * nothing is walked without.
 */
void unwinding__walk(struct unwinding *, const struct item *, size_t cnt, unwound_fn, void *arg);

/* The frames of a sample that came with its chain, from its entry `from` on; until the next call.
 */
const struct trace *unwinding__look_up(struct unwinding *, const struct item *, size_t from);

void unwinding__debug(const struct unwinding *);     /* says how it went */
size_t unwinding__pending(const struct unwinding *); /* files that are being read, or downloaded */

#endif
