/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk as libdwfl does it: what tests compare unwinder__walk() with, and --unwinder=naive.
 * Forty times slower.
 */
#ifndef UNWIND_NAIVE_H
#define UNWIND_NAIVE_H

#include "event/sample.h"
#include "event/trace.h"
#include "process/process.h"

struct naive;

struct naive *naive__new(void); /* NULL + errno */
void naive__free(struct naive *);

/*
 * As unwinder__walk(). libdwfl does not say why a walk ended: the status is ROOT, NO_MAP, LIMIT,
 * TRUNCATED (of a sample that was), COMPAT or else NO_CFI.
 */
void naive__walk(struct naive *, const struct process *, const struct sample *, struct trace *);

#endif
