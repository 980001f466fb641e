/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines on stderr that show the progress and, at the end, the result. The service manager gets
 * the progress too. */
#ifndef COLLECTOR_STATUS_H
#define COLLECTOR_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "collector/notify.h"
#include "collector/session.h"
#include "store/recording.h"

struct status {
	const struct capture_filter *filter; /* borrowed */
	const struct notify *notify;	     /* borrowed */
	bool quiet, terminal;
	uint64_t begin_ns, shown_ns;
	uint64_t cpu_ns; /* own CPU time at the last display */
};

void status__init(struct status *, const struct collector_options *, const struct notify *);
/* Prints the line that scripts wait for: recording has begun. */
void status__recording(struct status *, const char *dir, uint64_t begin_ns);
/* Return true, and show the progress: twice a second on a terminal, else every ten seconds. With
 * --quiet only the service manager gets it. */
bool status__due(const struct status *, uint64_t now_ns);
void status__tick(struct status *, const struct session *, const struct recording *,
		  uint64_t now_ns);
/* Prints what was recorded, by probe. */
void status__summary(struct status *, const struct session *, const struct recording *,
		     uint64_t end_ns);
/* Prints the cost of the BPF programs. */
void status__bill(struct status *, struct capture *, uint64_t ns);

#endif
