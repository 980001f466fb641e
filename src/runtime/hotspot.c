// SPDX-License-Identifier: GPL-2.0-or-later
/* HotSpot, from JDK 8 on, on x86-64. BPF reads nothing at the event: the stack is enough, together
 * with the code cache, the methods and libjvm's own tables, which jobs read afterwards. */
#include "runtime/hotspot.h"

#include <stdio.h>
#include <string.h>

static bool hotspot_may_have(const char *file)
{
	return strcmp(file, "libjvm.so") == 0;
}

static void hotspot_print_version(uint32_t version, char *text, size_t sz)
{
	snprintf(text, sz, "%u", version);
}

static const struct runtime_code code = {
	.interpreted = "java_interpreted",
	.compiled = "java_compiled",
	.inlined = "java_inlined",
	.native = "java_native",
	.elsewhere = "java_heap",
	.ranges = hotspot__read_ranges,
	.layout = hotspot__read_layout,
	.read = hotspot__read_code,
	.step = hotspot__step,
	.function = hotspot__function,
	.instr = hotspot__instr,
};

static const char *const symbols[] = { "gHotSpotVMStructs", "gHotSpotVMTypes",
				       "gHotSpotVMIntConstants", NULL };

const struct runtime hotspot = {
	.name = "java",
	.gone = "java_gone",
	.unknown = { .module = "[java]" },
	.symbols = symbols,
	.may_have = hotspot_may_have,
	.read = hotspot__read_method,
	.code = &code,
	.print_version = hotspot_print_version,
};
