// SPDX-License-Identifier: GPL-2.0-or-later
/* perf-PID.map and jit-PID.dump: any process may write anything there. The first byte selects the
 * format, and whether call-frame information is read, too. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/codetask.h"

static void check(const struct codemap *m, uint64_t addr)
{
	struct code c;

	if (codemap__find(m, addr, 10, &c))
		FUZZ_CHECK(addr >= c.start && addr - c.start < c.sz && strlen(c.name) > 0 &&
			   (c.frames != NULL) == (c.frames_sz > 0));
}

/* What is read is a sound answer of a worker. */
static void check_block(const struct code_list *l, const struct code_progress *at, uint64_t from,
			uint64_t end)
{
	size_t sz;
	void *block = code_block__of(l, at, 0, &sz);

	FUZZ_CHECK(block && code_block__is_sound(block, sz, from, end));
	free(block);
}

static int read_part(const struct code_file *f, struct code_progress *at, struct codemap *m)
{
	uint64_t from = at->off;
	struct code_list l;
	bool more;
	int err = code_task__read(f, at, &l, &more);

	check_block(&l, at, from, f->end);
	FUZZ_CHECK(!more && code_list__apply(&l, 0, code_list__cnt(&l), m, NULL) == 0);
	code_list__free(&l);
	return err;
}

/* In two pieces: the second is added during reading. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct code_file f = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	struct codemap *m = codemap__new();
	struct code_progress at = { 0 };
	size_t half = sz / 2;
	int err = 0;

	for (int piece = 0; piece < 2 && sz; piece++) {
		size_t from = piece ? half : 1, to = piece ? sz : half;

		if (to > from) {
			FUZZ_CHECK(write(f.fd, data + from, to - from) == (ssize_t)(to - from));
			f.end += to - from;
		}
		f.format = data[0] & 1 ? CODE_DUMP : CODE_MAP;
		if (!err)
			err = read_part(&f, &at, m);
		FUZZ_CHECK(err == 0 || err == -EBADMSG);
	}
	for (uint64_t addr = 0; addr < 0x10000; addr += 0x101)
		check(m, addr);
	codemap__free(m);
	close(f.fd);
	return 0;
}
