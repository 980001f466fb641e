// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a hostile worker answers about symbols, and what a runtime makes of it. The first byte says
 * which runtime, the second how many addresses are expected. Then comes the answer; what is behind
 * it is the memory of the process.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/addresstask.h"
#include "runtime/runtime.h"

#define LEFT (1u << 20)

static size_t runtime_cnt(void)
{
	size_t cnt = 0;

	while (runtimes_table[cnt])
		cnt++;
	return cnt;
}

/* Locates the runtime with these addresses of its symbols. */
static void use_symbols(const struct runtime *rt, const uint64_t *symbols, const uint8_t *memory,
			size_t sz)
{
	struct remote r = { .mem = memfd_create("fuzz_addresses", MFD_CLOEXEC), .left = LEFT };
	struct runtime_layout l = { .runtime = rt };
	struct capture_runtime c = { 0 };
	struct code_ranges ranges = { 0 };

	FUZZ_CHECK(r.mem >= 0 && write(r.mem, memory, sz) == (ssize_t)sz);
	if (runtime__locate(&r, symbols, &l, &c) == 0 && rt->code && rt->code->ranges)
		rt->code->ranges(&r, &l, &ranges);
	FUZZ_CHECK(r.left <= LEFT);
	close(r.mem);
}

/* Returns the answer's size, or 0 if it was refused. */
static size_t take_answer(const uint8_t *data, size_t sz, struct address_values *to)
{
	size_t answer_sz = 8 * (to->cnt + 1) < sz ? 8 * (to->cnt + 1) : sz;
	void *answer = malloc(answer_sz); /* aligned, with an end that a sanitizer checks */
	bool taken;

	FUZZ_CHECK(answer || !answer_sz);
	if (answer_sz)
		memcpy(answer, data, answer_sz);
	taken = address_answer__take(answer, answer_sz, to);
	free(answer);
	FUZZ_CHECK(to->left <= LEFT && (!taken || answer_sz == 8 * (to->cnt + 1)));
	return taken ? answer_sz : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	uint64_t symbols[RUNTIME_SYMBOLS] = { 0 };
	struct address_values to = { LEFT, 0, NULL };
	size_t used;

	if (sz < 2)
		return 0;
	to.cnt = data[1];
	to.values = calloc(to.cnt + 1, sizeof(*to.values));
	FUZZ_CHECK(to.values);
	used = take_answer(data + 2, sz - 2, &to);
	if (used) {
		size_t cnt = to.cnt < RUNTIME_SYMBOLS ? to.cnt : RUNTIME_SYMBOLS;

		memcpy(symbols, to.values, cnt * sizeof(*symbols));
		use_symbols(runtimes_table[data[0] % runtime_cnt()], symbols, data + 2 + used,
			    sz - 2 - used);
	}
	free(to.values);
	return 0;
}
