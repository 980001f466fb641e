/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ERRNAME_H
#define BASE_ERRNAME_H

/* Returns the name of an error number ("EIO"), or NULL if Linux has none. glibc has
 * strerrorname_np() only since 2.32. */
const char *errname__get(int error);

#endif
