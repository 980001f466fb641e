// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include <stdlib.h>

#include "lib/fakev8.h"

#define STACK 0x7000

static void check_blob(const struct code_blob *b)
{
	for (size_t i = 1; i < b->place_cnt; i++)
		FUZZ_CHECK(b->places[i - 1].off < b->places[i].off);
	for (size_t i = 0; i < b->place_cnt && b->kind != CODE_BASELINE; i++)
		FUZZ_CHECK(b->places[i].scope == CODE_NOWHERE || b->places[i].scope < b->scope_cnt);
	for (size_t i = 0; i < b->scope_cnt; i++) {
		FUZZ_CHECK(b->scopes[i].caller == CODE_NOWHERE || b->scopes[i].caller < i);
		FUZZ_CHECK(b->kind != CODE_COMPILED || b->scopes[i].function < b->script_cnt);
	}
}

/* Nothing else is known than this piece. */
struct fuzz_walk {
	struct code_walk walk;
	const struct code_blob *blob;
};

static const struct code_blob *find(struct code_walk *walk, uint64_t pc)
{
	const struct code_blob *b = ((struct fuzz_walk *)walk)->blob;

	return pc >= b->start && pc < b->end ? b : NULL;
}

static const struct code_blob *find_function(struct code_walk *walk, const struct code_wanted *w)
{
	return find(walk, w->pc);
}

/* The stack is the input, too. */
static void step(const struct runtime_layout *l, const struct code_blob *b, const uint8_t *data,
		 size_t sz)
{
	struct mapping maps[] = {
		{ .start = 0x10000, .end = 0x11000, .kind = MAPPING_FILE },
		{ .start = 0x40000, .end = 0x48000, .kind = MAPPING_ANON },
	};
	const struct process process = { .maps = maps, .map_cnt = 2 };
	const struct snapshot stack = { STACK, sz, data, NULL };
	const struct sample sample = { .stack = stack };
	const struct managed_query q = { &process, &sample, &stack, false };

	for (uint64_t i = 0; i < 64; i++) {
		struct fuzz_walk w = { { &q, find, find_function, l, false }, b };
		struct managed_frame f = { .pc = b->start + i * (b->end - b->start) / 64,
					   .sp = STACK,
					   .fp = STACK + 8 * i,
					   .caller = i & 1 };
		const struct frame frame = { .pc = f.pc, .sp = f.fp };

		if (b->kind == CODE_BYTECODE)
			f.pc = 0x10800;
		v8__place(l, &stack, &frame, b);
		v8__step(&w.walk, &f);
	}
}

static void read_pieces(int fd, const struct runtime_layout *l, const uint8_t *data, size_t sz)
{
	static const struct code_wanted wanted[] = {
		{ .pc = FAKE_STREAM + 0x140 },
		{ .pc = FAKE_BASELINE + 0x130 },
		{ .pc = FAKE_BYTECODE + FAKE_DATA,
		  .hint = OBJECT(FAKE_FUNCTION),
		  .other_hint = OBJECT(FAKE_FEEDBACK) },
	};

	for (size_t i = 0; i < 3; i++) {
		struct remote r = { .mem = fd, .left = 1 << 20 };
		struct code_blob *b = calloc(1, sizeof(*b));

		FUZZ_CHECK(b);
		if (v8__read_code(&r, l, &wanted[i], b) == 0) {
			check_blob(b);
			FUZZ_CHECK(wanted[i].pc >= b->start && wanted[i].pc < b->end);
			step(l, b, data, sz);
		}
		code_blob__free(b);
	}
}

/* The first byte says over what the rest lies. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static const uint64_t over[] = { FAKE_SCOPE,	FAKE_STRINGS,  FAKE_SOURCE,
					 FAKE_BYTECODE, FAKE_TABLE,    FAKE_POSITIONS,
					 FAKE_INLINED,	FAKE_DEOPT,    FAKE_CODE,
					 FAKE_STREAM,	FAKE_BASE_PCS, FAKE_SIZES,
					 FAKE_LITERALS, FAKE_OUTER,    FAKE_FUNCTION,
					 FAKE_SCRIPT };
	struct runtime_layout l;
	int fd;

	if (sz < 1)
		return 0;
	fd = fake__new();
	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(fake__layout(fd, &l) == 0);
	fake__put(fd, over[data[0] % 16], data + 1, sz - 1);
	read_pieces(fd, &l, data + 1, sz - 1);
	close(fd);
	return 0;
}
