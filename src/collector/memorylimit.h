/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COLLECTOR_MEMORYLIMIT_H
#define COLLECTOR_MEMORYLIMIT_H

#include <stddef.h>

/* Returns the lowest memory limit in bytes of this process's cgroup and the cgroups above it;
 * SIZE_MAX: none. Reads cgroup v2 and v1. */
size_t memory_limit__of_cgroup(void);

#endif
