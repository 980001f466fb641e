// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of unknown origin with a few functions: scanning must end, with rows in order. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "cfi/codescan.h"

#define VADDR  0x1000u
#define STARTS 8

struct check {
	uint64_t past, end;
	size_t cnt;
};

static void check_row(const struct cfi_row *row, void *arg)
{
	struct check *c = arg;

	if (row->at < c->past || row->at >= c->end)
		abort();
	if (row->rule.how != PACKED_SP && row->rule.how != PACKED_FP &&
	    row->rule.how != PACKED_ROOT && row->rule.how != PACKED_NONE)
		abort();
	c->past = row->at + 1;
	c->cnt++;
}

/* The input begins with starts, two bytes each; one bit of each marks a part. The rest is code. */
static size_t take_starts(struct code_start *starts, const uint8_t *data, size_t cnt)
{
	uint64_t vaddr = VADDR;

	for (size_t i = 0; i < cnt; i++) {
		vaddr += data[2 * i + 1];
		starts[i] = (struct code_start){ vaddr, data[2 * i] & 1 };
	}
	return cnt;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct code_start starts[STARTS];
	struct code_gap gap = { .vaddr = VADDR, .starts = starts, .entry = UINT64_MAX };
	size_t cnt = sz ? data[0] % (STARTS + 1) : 0;
	struct check check = { .past = VADDR };
	uint8_t *code;

	if (sz < 2 + 2 * cnt)
		return 0;
	gap.start_cnt = take_starts(starts, data + 2, cnt);
	if (data[1] & 1)
		gap.entry = VADDR + (data[1] >> 1);
	gap.sz = sz - 2 - 2 * cnt;
	code = malloc(gap.sz ? gap.sz : 1); /* a heap block: the sanitizer sees its end */
	memcpy(code, data + 2 + 2 * cnt, gap.sz);
	gap.bytes = code;
	check.end = VADDR + gap.sz;
	code_scan(&gap, check_row, &check);
	if (check.cnt > gap.sz)
		abort();
	free(code);
	return 0;
}
