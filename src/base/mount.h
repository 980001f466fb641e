/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MOUNT_H
#define BASE_MOUNT_H

/* Returns the first mount point of a file system of that type, for the caller to free, or NULL. */
char *mount__point(const char *type);

#endif
