/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COLLECTOR_MEMORYLIMIT_H
#define COLLECTOR_MEMORYLIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the lowest memory limit in bytes of this process's cgroup and the cgroups above it;
 * SIZE_MAX: none. Reads cgroup v2 and v1. */
size_t memory_limit__of_cgroup(void);

/* Returns the size of the ring of each CPU: `most`, or the half, quarter … of it with which the
 * rings together have a quarter of the limit, but not less than `least`. */
uint32_t memory_limit__ring_sz(size_t limit_sz, size_t cpu_cnt, uint32_t most, uint32_t least);

#endif
