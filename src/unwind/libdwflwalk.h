/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk as libdwfl does it: what tests compare unwinder__walk() with, and --unwinder=naive.
 * Forty times slower.
 */
#ifndef UNWIND_LIBDWFLWALK_H
#define UNWIND_LIBDWFLWALK_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct libdwflwalk;

struct libdwflwalk *libdwflwalk__new(void); /* NULL + errno */
void libdwflwalk__free(struct libdwflwalk *);

/*
 * As unwinder__walk(). libdwfl does not say why a walk ended: the status is ROOT, NO_MAP, LIMIT,
 * TRUNCATED (of a sample that was), COMPAT or else NO_CFI.
 */
void libdwflwalk__walk(struct libdwflwalk *, const struct process *, const struct sample *,
		       struct trace *);

#endif
