// SPDX-License-Identifier: GPL-2.0-or-later
/* perf-PID.map and jit-PID.dump: any process may write anything there. The first byte selects the
 * format, and whether call-frame information is read, too. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/jitdump.h"
#include "jit/perfmap.h"

static void check(const struct codemap *m, uint64_t addr)
{
	struct code c;

	if (codemap__find(m, addr, 10, &c))
		FUZZ_CHECK(addr >= c.start && addr - c.start < c.sz && strlen(c.name) > 0 &&
			   (c.frames != NULL) == (c.frames_sz > 0));
}

/* In two pieces: the second is added during reading. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct codemap *m = codemap__new();
	struct perfmap p = { 0 };
	struct jitdump d = { 0 };
	size_t half = sz / 2;
	int err = 0;

	for (int piece = 0; piece < 2 && sz; piece++) {
		size_t from = piece ? half : 1, to = piece ? sz : half;

		if (to > from)
			FUZZ_CHECK(write(fd, data + from, to - from) == (ssize_t)(to - from));
		if (!err)
			err = data[0] & 1 ? jitdump__read(&d, fd, m) : perfmap__read(&p, fd, m);
		FUZZ_CHECK(err == 0 || err == -EBADMSG);
	}
	for (uint64_t addr = 0; addr < 0x10000; addr += 0x101)
		check(m, addr);
	codemap__free(m);
	close(fd);
	return 0;
}
