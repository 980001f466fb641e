/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash tables begin with a number that nobody outside of this process knows: who chooses names or
 * addresses must not choose which of them meet in one slot.
 */
#ifndef BASE_SEED_H
#define BASE_SEED_H

#include <stdint.h>

extern uint64_t seed__value; /* private: seed__get() */

/* The same while the process runs. */
static inline uint64_t seed__get(void)
{
	return seed__value;
}

/* Of a number one of which any bits tell a slot. */
static inline uint64_t seed__mix(uint64_t key)
{
	__extension__ unsigned __int128 product = (unsigned __int128)key * (seed__value | 1);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
