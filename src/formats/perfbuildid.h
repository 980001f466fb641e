/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build IDs by path, as perf.data has them of the files that samples fell into. */
#ifndef FORMATS_PERFBUILDID_H
#define FORMATS_PERFBUILDID_H

#include "event/record.h"

struct perf_build_id;

struct perf_build_ids {
	struct perf_build_id *by_path;
};

void perf_build_ids__free(struct perf_build_ids *);
/* Records as in the section BUILD_ID, one after the other; what is damaged ends it. */
void perf_build_ids__add(struct perf_build_ids *, const uint8_t *data, size_t sz);
/* NULL: there is none, or there are two that differ. */
const struct build_id *perf_build_ids__find(const struct perf_build_ids *, const char *path);

#endif
