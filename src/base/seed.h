/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A secret number for hash tables: other processes choose names and addresses, but must not be able
 * to choose which of them share a slot.
 */
#ifndef BASE_SEED_H
#define BASE_SEED_H

#include <stdint.h>

extern uint64_t seed__value; /* private: seed__get() */

/* Returns the seed, which is constant while the process runs. */
static inline uint64_t seed__get(void)
{
	return seed__value;
}

/* Hashes a number so that any of the result's bits can select a slot. */
static inline uint64_t seed__mix(uint64_t key)
{
	__extension__ unsigned __int128 product = (unsigned __int128)key * (seed__value | 1);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
