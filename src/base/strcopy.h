/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_STRCOPY_H
#define BASE_STRCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies a string into `sz` > 0 bytes. Returns false if it does not fit: then `to` has its
 * beginning, with a NUL. */
static inline bool str__copy(char *to, size_t sz, const char *from)
{
	size_t len = strnlen(from, sz);
	bool fits = len < sz;

	if (!fits)
		len = sz - 1;
	memcpy(to, from, len);
	to[len] = '\0';
	return fits;
}

#endif
