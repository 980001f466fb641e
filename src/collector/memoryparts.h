/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds the collector's memory, for the status file and the metrics. */
#ifndef COLLECTOR_MEMORYPARTS_H
#define COLLECTOR_MEMORYPARTS_H

#include "collector/memory.h"
#include "collector/session.h"
#include "store/recording.h"

struct memory_part {
	const char *name;
	size_t sz; /* bytes */
};

#define MEMORY_PART_CNT 13

void memory_parts__get(struct memory_part[MEMORY_PART_CNT], const struct session_totals *,
		       const struct memory_stats *, const struct recording *);

#endif
