/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the options again while recording, from the same command line and its configuration files,
 * and applies those that can change without a gap. The BPF programs stay as they are.
 */
#ifndef COLLECTOR_RELOAD_H
#define COLLECTOR_RELOAD_H

#include "collector/collector_options.h"
#include "collector/governor.h"
#include "collector/memory.h"
#include "collector/metrics.h"
#include "collector/trigger.h"

struct reload {
	struct collector_options *options;
	struct recording *recording;
	struct session *session;
	struct memory *memory;
	struct governor *governor; /* NULL: no budget */
	struct trigger *trigger;
	struct metrics **metrics;
	struct metrics_sources metrics_sources;
};

/* Logs what changed, and what needs a restart. After a mistake in a file everything stays as it
 * is. */
void reload__options(const struct reload *);

#endif
