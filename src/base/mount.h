/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MOUNT_H
#define BASE_MOUNT_H

#include <stdbool.h>

/* Returns the first mount point of a file system of that type, for the caller to free, or NULL. */
char *mount__point(const char *type);
/*
 * Returns whether the administrator mounted the file system with this device number, as in
 * /proc/PID/maps. Where the administrator sees it, a user can only mount FUSE (fusermount), whose
 * server decides when a read ends. Other mounts of users are in namespaces of their own, and never
 * of a disk. Asks no file system. `mountinfo` is proc_pid_mountinfo(5) of this process.
 */
bool mount__is_of_admin(const char *mountinfo, unsigned major, unsigned minor);

#endif
