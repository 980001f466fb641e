// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static const uint64_t places[] = { 0, 1, 0xffffffff81000000, 0xffffffffc0001234,
					   UINT64_MAX };
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct kallsyms *k;
	char path[64];
	struct symbol s;

	FUZZ_CHECK(fd >= 0 && write(fd, data, sz) == (ssize_t)sz);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	k = kallsyms__new(path);
	for (size_t i = 0; k && i < sizeof(places) / sizeof(*places); i++)
		if (kallsyms__symbol(k, places[i], &s)) {
			FUZZ_CHECK(s.address <= places[i] && s.name[0] && s.module);
		}
	kallsyms__free(k);
	close(fd);
	return 0;
}
