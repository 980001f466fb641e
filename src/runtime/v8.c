// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8, as in Node 18 to 24, on x86-64. BPF reads nothing: the stack has the functions, and jobs read
 * their names afterwards. Objects that have moved are found through others that do not move.
 */
#include "runtime/v8.h"

#include <stdio.h>
#include <string.h>

static bool v8_may_have(const char *file)
{
	return strcmp(file, "node") == 0 || strcmp(file, "nodejs") == 0 ||
	       strncmp(file, "libnode.so", 10) == 0;
}

static void v8_print_version(uint32_t version, char *text, size_t sz)
{
	snprintf(text, sz, "V8 %u.%u", version >> 16, version & UINT16_MAX);
}

static const struct runtime_code code = {
	.interpreted = "javascript_interpreted",
	.baseline = "javascript_baseline",
	.compiled = "javascript_compiled",
	.inlined = "javascript_inlined",
	.layout = v8__read_layout,
	.read = v8__read_code,
	.step = v8__step,
	.bytecode = v8__bytecode,
	.place = v8__place,
};

const struct runtime v8 = {
	.name = "javascript",
	.gone = "javascript_gone",
	.unknown = { .module = "[javascript]" },
	.symbols = v8_symbols,
	.may_have = v8_may_have,
	.code = &code,
	.print_version = v8_print_version,
};
