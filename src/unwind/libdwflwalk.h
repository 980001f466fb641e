/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reference walk: libdwfl does all of it. Tests compare unwinder__walk() with it, and
 * --unwinder=naive selects it. It is forty times slower.
 */
#ifndef UNWIND_LIBDWFLWALK_H
#define UNWIND_LIBDWFLWALK_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct libdwflwalk;

struct libdwflwalk *libdwflwalk__new(void); /* returns NULL and sets errno on failure */
void libdwflwalk__free(struct libdwflwalk *);

/*
 * Like unwinder__walk(). libdwfl does not report why a walk ended. The status is ROOT, NO_MAP,
 * LIMIT, TRUNCATED (only if the sample was truncated or has holes), COMPAT, or else NO_CFI.
 */
void libdwflwalk__walk(struct libdwflwalk *, const struct process *, const struct sample *,
		       struct trace *);

#endif
