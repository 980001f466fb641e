/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening and making folders as root where others may write. */
#ifndef STORE_PATH_H
#define STORE_PATH_H

#include <sys/types.h>

struct path_owner {
	uid_t uid;
	gid_t gid;
};

/*
 * Opens the folder, made with its parents where missing: a made parent gets mode 0755 and the owner
 * of the folder that it is made in; the last one, when it is made, 0750 and `owner`'s. A symbolic
 * link is followed only when root, the caller or the owner made it (-ELOOP). An fd or -errno.
 */
int path__open(const char *path, const struct path_owner *owner);
/* The same, but the last one is made as a parent is. */
int path__open_parent(const char *path, const struct path_owner *owner);
/*
 * Sets owner, group and mode of what was just made, and removes what its folder gave it besides:
 * the group of a setgid folder, access and default ACLs. 0 or -errno.
 */
int path__own(int fd, mode_t mode, const struct path_owner *owner);
/* Makes a folder, 0750, `owner`'s, in an open one. An fd or -errno, -EEXIST included. */
int path__make(int parent, const char *name, const struct path_owner *owner);

#endif
