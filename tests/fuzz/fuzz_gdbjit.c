// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF images that a process lists for gdb: this process lists the input. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/gdb_image.h"
#include "jit/gdbjit.h"

extern struct gdb_descriptor __jit_debug_descriptor; /* the name is gdb's */
struct gdb_descriptor __jit_debug_descriptor;

static void open_self(struct jit_owner *o)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	FUZZ_CHECK(jit_owner__open(o, proc, (uint32_t)getpid()) == 0);
	close(proc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static struct jit_owner self;
	static struct gdb_jit *jit;
	static uint32_t turn;
	uint8_t *image = malloc(sz); /* with an end that a sanitizer checks */
	struct gdb_listed listed = { .image = image, .sz = sz };
	struct code c;

	if (!jit) {
		open_self(&self);
		jit = gdb_jit__new(NULL, NULL);
	}
	if (sz)
		memcpy(image, data, sz);
	__jit_debug_descriptor = (struct gdb_descriptor){ 1, ++turn, &listed, &listed };
	gdb_jit__read(jit, &self);
	FUZZ_CHECK(gdb_jit__cnt(jit) <= 1);
	if (gdb_jit__find(jit, 0x400000, &c))
		FUZZ_CHECK(c.start <= 0x400000 && c.sz > 0x400000 - c.start && c.frames_sz > 0);
	free(image);
	return 0;
}
