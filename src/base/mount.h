/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MOUNT_H
#define BASE_MOUNT_H

#include <stdbool.h>

/* Returns the first mount point of a file system of that type, for the caller to free, or NULL. */
char *mount__point(const char *type);
/*
 * Returns true if no user can have mounted the file system with this device number, as in
 * /proc/PID/maps. In the administrator's mount namespace a user can mount FUSE only (fusermount).
 * In other namespaces, no user can mount a disk. Does not access the file system, which might
 * not answer. `mountinfo` is proc_pid_mountinfo(5) of this process.
 */
bool mount__is_of_admin(const char *mountinfo, unsigned major, unsigned minor);
/* Returns true if the file was opened through a mount of this process's mount namespace.
 * `mountinfo` is as above. Does not access the file system. */
bool mount__is_here(const char *mountinfo, int fd);
/*
 * Looks up a folder in the file system of an open file, through the mount through which that was
 * opened. May access this file system, but no other one: follows neither links nor other mounts.
 * Returns a handle, or -errno: -EXDEV if the folder is elsewhere, or if the mount is in
 * another namespace or a user's.
 */
int mount__folder_of(int fd, const char *folder);

#endif
