// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of /proc/PID/maps: a process chooses the paths in it. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "process/maps.h"

static void see(const struct record_mmap *m, void *arg)
{
	size_t *bytes = arg;

	FUZZ_CHECK(m->len > 0 && m->start + m->len > m->start);
	*bytes += strlen(m->path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	char *text = malloc(sz ? sz : 1);
	size_t bytes = 0;

	memcpy(text, data, sz);
	FUZZ_CHECK(maps__parse(text, sz, see, &bytes) <= sz && bytes <= sz);
	free(text);
	return 0;
}
