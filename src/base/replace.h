/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include <stddef.h>

/*
 * Writes a file that is complete at every moment: who reads it never sees half of it. May block as
 * long as a disk does. 0 or -errno; then the file is what it was.
 */
int replace__file(const char *path, const void *data, size_t sz);

#endif
