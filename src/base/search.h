/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/*
 * Returns how many of the `cnt` elements of `array` come before the first one for which `condition`
 * is false, by binary search: if it is true for an element, it must be true for all before it. The
 * condition reads the element through the pointer `e`: SEARCH_COUNT(rows, cnt, r, r->start <= at).
 */
#define SEARCH_COUNT(array, cnt, e, condition)                                       \
	({                                                                           \
		size_t search_lo = 0, search_hi = (cnt);                             \
                                                                                     \
		while (search_lo < search_hi) {                                      \
			size_t search_mid = search_lo + (search_hi - search_lo) / 2; \
			const __typeof__(*(array)) *e = &(array)[search_mid];        \
                                                                                     \
			if (condition)                                               \
				search_lo = search_mid + 1;                          \
			else                                                         \
				search_hi = search_mid;                              \
		}                                                                    \
		search_lo;                                                           \
	})

#endif
