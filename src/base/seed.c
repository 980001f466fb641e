// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/seed.h"

#include <string.h>
#include <sys/auxv.h>

uint64_t seed__value = 0x9e3779b97f4a7c15u;

/* Takes 8 of the 16 random bytes that the kernel gives each program, getauxval(3). */
static __attribute__((constructor)) void find_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&seed__value, (const char *)random + 8, sizeof(seed__value));
}
