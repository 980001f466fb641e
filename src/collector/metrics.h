/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector's counters in a file, in the text format of Prometheus, for the "textfile"
 * collector of its node_exporter. docs/operating.md, "Metrics", lists them.
 */
#ifndef COLLECTOR_METRICS_H
#define COLLECTOR_METRICS_H

#include "capture/capture.h"
#include "collector/memory.h"
#include "collector/session.h"
#include "store/recording.h"

struct metrics_sources { /* borrowed */
	struct capture *capture;
	const struct session *session;
	const struct memory *memory;
	const struct recording *recording;
};

struct metrics;

/* Creates the file's folder if it is missing. Returns NULL + errno (already logged). A NULL path
 * means no file and returns NULL, too. */
struct metrics *metrics__new(const char *path, const struct metrics_sources *);
/* Removes the file. Accepts NULL. */
void metrics__free(struct metrics *);

/* Replaces the file if five seconds have passed. Accepts NULL. `now_ns`: CLOCK_MONOTONIC. */
void metrics__tick(struct metrics *, uint64_t now_ns);

#endif
