/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdlib.h>

#define ARRAY_MIN 16

/*
 * Room for one more element of `sz` bytes behind cnt of them; *cap, 0 at first, doubles. Returns
 * the array, moved or not; NULL without memory: it is as it was then.
 */
static inline void *array__room(void *v, size_t cnt, size_t *cap, size_t sz)
{
	size_t more = *cap ? 2 * *cap : ARRAY_MIN;

	if (cnt < *cap)
		return v;
	v = reallocarray(v, more, sz);
	if (v)
		*cap = more;
	return v;
}

#endif
