/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps cgroup v2 ids (inode numbers) to paths from the cgroup root. */
#ifndef COLLECTOR_CGROUP_H
#define COLLECTOR_CGROUP_H

#include <stdint.h>

struct cgroups;

/* Returns NULL + errno. Works without paths if no cgroup v2 file system is mounted. */
struct cgroups *cgroups__new(void);
void cgroups__free(struct cgroups *);

/*
 * Returns a path such as "/system.slice/ssh.service". Returns NULL if the cgroup is gone, if no
 * cgroup file system is mounted, or without CAP_DAC_READ_SEARCH. Looked up once per cgroup, and
 * kept when the cgroup is gone. Valid until the next call.
 */
const char *cgroups__path(struct cgroups *, uint64_t id);

#endif
