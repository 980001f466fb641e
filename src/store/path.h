/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and creates folders as root in places where other users may write. */
#ifndef STORE_PATH_H
#define STORE_PATH_H

#include <sys/types.h>

struct path_owner {
	uid_t uid;
	gid_t gid;
};

/*
 * Opens the folder; creates it and its parents if they are missing. A created parent gets mode 0755
 * and the owner of its own parent; the last folder, if it is created, gets 0750 and `owner`. A
 * symbolic link is followed only if root, the caller or the owner created it (-ELOOP). Returns a
 * descriptor or -errno.
 */
int path__open(const char *path, const struct path_owner *owner);
/* Like path__open(), but creates the last folder like a parent. */
int path__open_parent(const char *path, const struct path_owner *owner);
/*
 * Sets owner, group and mode of a new file or folder, and removes what it inherited: the group of a
 * setgid folder, access and default ACLs. Returns 0 or -errno.
 */
int path__own(int fd, mode_t mode, const struct path_owner *owner);
/* Creates a folder (0750, owned by `owner`) in an open one. Returns a descriptor or -errno, also
 * -EEXIST. */
int path__make(int parent, const char *name, const struct path_owner *owner);

#endif
