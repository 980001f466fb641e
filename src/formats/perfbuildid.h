/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build IDs by path. A perf.data has them for the files that samples fell into. */
#ifndef FORMATS_PERFBUILDID_H
#define FORMATS_PERFBUILDID_H

#include "event/record.h"

struct perf_build_id;

struct perf_build_ids {
	struct perf_build_id *by_path;
};

void perf_build_ids__free(struct perf_build_ids *);
/* Adds consecutive records in the format of the section BUILD_ID. Stops at a damaged one. */
void perf_build_ids__add(struct perf_build_ids *, const uint8_t *data, size_t sz);
/* Returns NULL if the path has no build ID, or two that differ. */
const struct build_id *perf_build_ids__find(const struct perf_build_ids *, const char *path);

#endif
