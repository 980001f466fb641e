// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	char *raw = malloc(sz + 1), out[SYMBOL_NAME_MAX];
	size_t n;

	FUZZ_CHECK(raw);
	if (sz)
		memcpy(raw, data, sz);
	raw[sz] = '\0';
	n = symbol_name(raw, out);
	FUZZ_CHECK(n == strlen(out) && (n > 0 || raw[0] == '\0'));
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK((uint8_t)out[i] >= 0x20 && out[i] != 0x7f);
	free(raw);
	return 0;
}
