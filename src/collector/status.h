/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a person sees while recording and at the end, on stderr. */
#ifndef COLLECTOR_STATUS_H
#define COLLECTOR_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "collector/session.h"
#include "store/recording.h"

struct status {
	bool quiet, terminal;
	uint64_t begin_ns, shown_ns;
	uint64_t cpu_ns; /* own CPU time when it was shown last */
};

void status__init(struct status *, const struct options *);
/* The line that scripts wait for: events are on. */
void status__recording(struct status *, const char *dir, uint64_t begin_ns);
/* The live line, when it is due: twice a second on a terminal, else a line every ten seconds. */
bool status__due(const struct status *, uint64_t now_ns);
void status__tick(struct status *, const struct session *, const struct recording *,
		  uint64_t now_ns);
/* What was recorded, by probe. */
void status__summary(struct status *, const struct session *, const struct recording *,
		     uint64_t end_ns);
/* What the BPF programs cost. */
void status__bill(struct status *, struct capture *, uint64_t ns);

#endif
