// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/fpu.h"

#include <cpuid.h>

#define FXSAVE_SZ	512
#define XSAVE_HEADER_SZ 64
#define XSAVE_LEAF	0xd /* of cpuid: size and offset of each component */
#define COMPONENTS	63
#define AMX_TILES	18
#define MAGIC2_SZ	4 /* FP_XSTATE_MAGIC2 behind it */

/* XCR0: the components that the kernel has switched on. */
static uint64_t components(void)
{
	uint32_t low, high;

	asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

uint32_t fpu__signal_sz(void)
{
	uint32_t sz = FXSAVE_SZ + XSAVE_HEADER_SZ, component_sz, off, c, d;

	if (!__get_cpuid(1, &component_sz, &off, &c, &d) || !(c & bit_OSXSAVE))
		return FXSAVE_SZ;
	for (unsigned i = 2; i < COMPONENTS; i++) {
		if (i == AMX_TILES || !(components() >> i & 1))
			continue;
		__cpuid_count(XSAVE_LEAF, i, component_sz, off, c, d);
		if (off + component_sz > sz)
			sz = off + component_sz;
	}
	return sz + MAGIC2_SZ;
}
