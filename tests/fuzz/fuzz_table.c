// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forged call-frame information, compiled. The first byte selects the section (bit 0: .debug_frame,
 * else .eh_frame) and the use of the table (bit 1: the rest is not frames but a table in the cache;
 * bit 2: with a correct checksum).
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "cfi/table.h"

#define FRAMES_VADDR 0x2000
#define CODE_VADDR   0x1000
#define CODE_SZ	     0x3000

static const struct table_segment segments[] = {
	{ .vaddr = CODE_VADDR, .off = 0x400, .sz = CODE_SZ },
	{ .vaddr = 0x7fff0000, .off = 0x10000, .sz = 0x1000 },
};

static void look_up(const struct cfi_table *t)
{
	for (uint64_t off = 0; off < 0x12000; off += 61)
		FUZZ_CHECK(cfi_table__at(t, off).how <= UINT8_MAX);
	cfi_table__at(t, UINT64_MAX);
	cfi_table__at(t, t->first_page << TABLE_PAGE_BITS);
	cfi_table__at(t, ((t->first_page + t->page_cnt) << TABLE_PAGE_BITS) - 1);
}

static void compile(const uint8_t *data, size_t sz, bool eh)
{
	struct cfi_section section = { data, sz, FRAMES_VADDR, eh };
	struct table_source source = { .machine = &machine_x86_64,
				       .segments = segments,
				       .segment_cnt = 2,
				       .sections = &section,
				       .section_cnt = 1 };
	struct cfi_table *t = cfi_table__make(&source);

	FUZZ_CHECK(t || errno == ENOENT || errno == E2BIG);
	if (!t)
		return;
	FUZZ_CHECK(cfi_table__is_sound(t, t->sz, &t->build_id));
	look_up(t);
	free(t);
}

static void open_foreign(const uint8_t *data, size_t sz, bool seal)
{
	const struct build_id none = { 0 };
	struct cfi_table *t = malloc(sz ? sz : 1);

	FUZZ_CHECK(t);
	memcpy(t, data, sz);
	if (seal && sz >= sizeof(*t)) {
		t->sz = sz;
		cfi_table__seal(t);
	}
	if (cfi_table__is_sound(t, sz, &none))
		look_up(t);
	free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	if (sz && (data[0] & 2))
		open_foreign(data + 1, sz - 1, data[0] & 4);
	else if (sz)
		compile(data + 1, sz - 1, !(data[0] & 1));
	return 0;
}
