/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_PUSH_FOLDERCOPY_H
#define STACKSEXPORT_PUSH_FOLDERCOPY_H

/* Copies a file into a folder that exists (a mounted one), as `name`, which may have folders. The
 * copy gets its name when it is on the disk. Returns 0; -EAGAIN, after a warning, if another try
 * can work; or -EIO (already logged). */
int folder_copy__file(const char *folder, int fd, const char *name);

#endif
