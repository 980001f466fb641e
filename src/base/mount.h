/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MOUNT_H
#define BASE_MOUNT_H

#include <stdbool.h>

/* Returns the first mount point of a file system of that type, for the caller to free, or NULL. */
char *mount__point(const char *type);
/*
 * Returns true if no user can have mounted the file system with this device number, as in
 * /proc/PID/maps. In the administrator's mount namespace a user can mount FUSE only (fusermount).
 * In other namespaces, no user can mount a disk. The function does not ask the file system, which
 * might not answer. `mountinfo` is proc_pid_mountinfo(5) of this process.
 */
bool mount__is_of_admin(const char *mountinfo, unsigned major, unsigned minor);
/* Returns true if the file was opened through a mount of this process's mount namespace.
 * `mountinfo` is as above. Does not ask the file system. */
bool mount__is_here(const char *mountinfo, int fd);

#endif
