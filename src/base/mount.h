/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_MOUNT_H
#define BASE_MOUNT_H

/* Where a file system of that type is mounted first, for the caller to free; NULL: nowhere. */
char *mount__point(const char *type);

#endif
