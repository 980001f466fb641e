/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include <stddef.h>

/*
 * Replaces a file atomically: readers never see a partial file. May block on the disk. Returns 0 or
 * -errno; the file is unchanged on error.
 */
int replace__file(const char *path, const void *data, size_t sz);

#endif
