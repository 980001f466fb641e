/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the cost of recording, of BPF programs and the collector's threads together, within
 * --budget: it thins the costliest source step by step, and takes the steps back when there is room
 * again. Each change is a row of kind `rate`.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include "capture/capture.h"
#include "collector/session.h"

/* ---- what to do: no clocks, no side effects -----------------------------------------------------
 */

#define GOVERNOR_EVERY_MAX 4096

struct governor_source {
	bool can_thin;
	uint32_t every;	     /* 1 of so many events is recorded */
	uint64_t cost_ns;    /* in the last interval */
	uint64_t thinned_ns; /* cost before it was last thinned; 0: it was not, or not last */
};

struct governor_plan {
	struct governor_source sources[PROBE_CHOICE_MAX];
	size_t cnt;
	uint64_t other_ns;  /* cost of everything else in the last interval */
	uint64_t budget_ns; /* for an interval */
	unsigned calm;	    /* intervals in which there was room for one step back */
};

/* Changes `every` of at most one source by a factor of two. Returns its index, or -1. */
int governor_plan__step(struct governor_plan *);

/* ---- doing it -----------------------------------------------------------------------------------
 */

struct governor_options { /* borrowed */
	struct capture *capture;
	struct session *session;
	const struct probe_choice *probes;
	size_t probe_cnt;
	uint32_t percent; /* of one CPU */
};

struct governor;

/* Returns NULL + errno. */
struct governor *governor__new(const struct governor_options *);
/* Accepts NULL. */
void governor__free(struct governor *);

/* Changes the budget, from the next interval on. */
void governor__set_percent(struct governor *, uint32_t percent);

/* Acts if half a second has passed. Accepts NULL. `now_ns`: CLOCK_MONOTONIC. */
void governor__tick(struct governor *, uint64_t now_ns);

#endif
