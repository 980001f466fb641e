// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include <stdlib.h>

#include "lib/fakejvm.h"

static void check_blob(const struct code_blob *b)
{
	for (size_t i = 1; i < b->place_cnt; i++)
		FUZZ_CHECK(b->places[i - 1].off < b->places[i].off);
	for (size_t i = 0; i < b->place_cnt; i++)
		FUZZ_CHECK(b->places[i].scope == CODE_NOWHERE || b->places[i].scope < b->scope_cnt);
	for (size_t i = 0; i < b->scope_cnt; i++) {
		FUZZ_CHECK(b->scopes[i].caller == CODE_NOWHERE || b->scopes[i].caller < i);
		FUZZ_CHECK(b->scopes[i].function < b->script_cnt);
	}
}

/* Nothing else is known than this code. */
struct fuzz_walk {
	struct code_walk walk;
	const struct code_blob *blob;
};

static const struct code_blob *find(struct code_walk *walk, uint64_t pc)
{
	const struct code_blob *b = ((struct fuzz_walk *)walk)->blob;

	return pc >= b->start && pc < b->end ? b : NULL;
}

/* The stack is the input, too. */
static void step(const struct code_blob *b, const uint8_t *data, size_t sz)
{
	const struct snapshot stack = { 0x7000, sz, data, NULL };
	const struct process nobody = { 0 };
	const struct sample sample = { .stack = stack };
	const struct managed_query q = { &nobody, &sample, &stack, false };
	const uint64_t regs[EVENT_REG_CNT] = { [13] = 0x7040, [3] = 0x7080 };

	for (uint64_t pc = b->start; pc < b->end; pc += 1 + (b->end - b->start) / 64) {
		struct fuzz_walk w = { { .query = &q, .find = find }, b };
		struct managed_frame f = { .pc = pc, .sp = 0x7000, .fp = 0x7060, .regs = regs };

		hotspot__step(&w.walk, &f);
	}
}

static void read_code(int fd, const struct runtime_layout *l, const uint8_t *data, size_t sz)
{
	static const uint64_t at[] = { JVM_NMETHOD, JVM_STUB, JVM_INTERP };

	for (size_t i = 0; i < 3; i++) {
		struct remote r = { .mem = fd, .left = 1 << 20 };
		const struct code_wanted w = { .pc = at[i] + JVM_BEGIN + 0x20 };
		struct code_blob *b = calloc(1, sizeof(*b));

		FUZZ_CHECK(b);
		if (hotspot__read_code(&r, l, &w, b) == 0) {
			check_blob(b);
			FUZZ_CHECK(w.pc >= b->start && w.pc < b->end);
			step(b, data, sz);
		}
		code_blob__free(b);
	}
}

static void read_method(int fd, const struct runtime_layout *l)
{
	struct remote r = { .mem = fd, .left = 1 << 20 };
	struct script_function f = { 0 };

	hotspot__read_method(&r, l, JVM_METHOD, &f);
	for (size_t i = 1; i < f.cnt; i++)
		FUZZ_CHECK(f.places[i - 1].off < f.places[i].off);
	script_function__free(&f);
}

/* The first byte says over what the rest lies. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static const uint64_t over[] = { JVM_NMETHOD - 16,
					 JVM_NMETHOD + 0x2070,
					 JVM_NMETHOD + JVM_BEGIN,
					 JVM_METHOD,
					 JVM_METHOD + 0x100,
					 JVM_POOL,
					 JVM_HEAP,
					 JVM_FIELDS };
	struct runtime_layout l;
	int fd;

	if (sz < 1)
		return 0;
	fd = jvm__new();
	FUZZ_CHECK(fd >= 0);
	jvm__put(fd, over[data[0] % 8], data + 1, sz - 1);
	if (jvm__layout(fd, &l) == 0) {
		read_code(fd, &l, data + 1, sz - 1);
		read_method(fd, &l);
	}
	close(fd);
	return 0;
}
