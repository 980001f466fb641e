/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdlib.h>

#define ARRAY_MIN 16

/*
 * Returns the array with room for one more element of `sz` bytes after `cnt` of them; it may have
 * moved. `*cap` starts at 0 and doubles. Returns NULL without memory; the array is then unchanged.
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
