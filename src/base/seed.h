/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_SEED_H
#define BASE_SEED_H

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/*
 * A number that nobody outside of this process knows, the same while it runs. Hash tables begin with
 * it: who chooses names or addresses must not choose which of them meet in one slot. From the random
 * bytes that the kernel gives each program (getauxval(3)).
 */
static inline uint64_t seed__get(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0x9e3779b97f4a7c15u;

	if (random)
		memcpy(&seed, (const char *)random + 8, sizeof(seed));
	return seed;
}

#endif
