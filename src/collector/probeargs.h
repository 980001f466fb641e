/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns `probe` and `args` of a chosen probe (capture/anyprobe.h). */
#ifndef COLLECTOR_PROBEARGS_H
#define COLLECTOR_PROBEARGS_H

#include "capture/anyprobe.h"
#include "collector/slice.h"
#include "store/recording.h"
#include "store/row.h"

/*
 * Sets the place's name, and its arguments as a JSON object: {"fd": 3, "name": "text"}. Numbers are
 * in decimal. A text is null if it could not be read. Without arguments, `args` is null. The
 * amount of a call is its result: it is in `args`, too, and not in the row's amount.
 */
void probe_args__fill(struct row *, const struct resolved_event *, const struct any_probes *,
		      struct recording *);

/* Puts the text that names the span into `text`. Returns false if there is none. */
#define PROBE_ARGS_TEXT_SZ (EVENT_ARG_CNT * EVENT_ARG_TEXT_SZ)
bool probe_args__text(const struct resolved_event *, const struct any_probes *,
		      char text[PROBE_ARGS_TEXT_SZ]);

#endif
