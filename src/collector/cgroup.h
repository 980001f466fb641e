/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroup v2 ids (inode numbers) → paths from the cgroup root. */
#ifndef COLLECTOR_CGROUP_H
#define COLLECTOR_CGROUP_H

#include <stdint.h>

struct cgroups;

struct cgroups *cgroups__new(
	void); /* NULL + errno; works, knowing no path, where no cgroup v2 is mounted */
void cgroups__free(struct cgroups *);

/*
 * "/system.slice/ssh.service", or NULL when the cgroup is gone or none is mounted, or without
 * CAP_DAC_READ_SEARCH. Asked for once, and remembered when it is gone. Lives until the next call.
 */
const char *cgroups__path(struct cgroups *, uint64_t id);

#endif
