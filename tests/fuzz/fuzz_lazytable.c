// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A forged search table for forged call-frame information. The first two bytes are the size of
 * .eh_frame_hdr, which .eh_frame follows. Code is from 0x1000 on; .init has the same bytes as the
 * start of .eh_frame.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "cfi/lazytable.h"

#define CODE	    0x1000
#define CODE_SZ	    0x2000
#define FRAMES_FROM 0x8000 /* of the file, and its address */

struct bytes {
	struct elf_file file; /* only its machine and size are used */
	const uint8_t *data;
	size_t sz;
};

static int read_bytes(const struct elf_file *f, uint64_t off, void *to, size_t sz)
{
	const struct bytes *b = (const struct bytes *)f;

	if (off - FRAMES_FROM > b->sz || sz > b->sz - (off - FRAMES_FROM))
		return -EAGAIN;
	memcpy(to, b->data + (off - FRAMES_FROM), sz);
	return 0;
}

static void ask(struct lazy_table *x, const struct bytes *b)
{
	for (uint64_t off = CODE - 16; off < CODE + CODE_SZ + 16; off += 7) {
		const struct lazy_query query = { &b->file, read_bytes, off };
		struct packed_rule rule;
		int err = lazy_table__rule(x, &query, &rule);

		FUZZ_CHECK(err == 0 || err == -EAGAIN || err == -EINVAL);
		FUZZ_CHECK(err || rule.how <= PACKED_SWITCH);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	static const struct table_segment code = { CODE, CODE, CODE_SZ };
	struct bytes b = { .file = { .machine = &machine_x86_64, .fd = -1 } };
	struct lazy_source s = { .segments = &code, .segment_cnt = 1 };
	static struct lazy_reader reader = { .read = read_bytes };
	struct lazy_table *x;
	uint16_t hdr_sz;

	if (sz < sizeof(hdr_sz))
		return 0;
	memcpy(&hdr_sz, data, sizeof(hdr_sz));
	b.data = data + sizeof(hdr_sz);
	b.sz = sz - sizeof(hdr_sz);
	if (hdr_sz > b.sz)
		return 0;
	s.hdr = (struct lazy_section){ FRAMES_FROM, FRAMES_FROM, hdr_sz };
	s.frames =
		(struct lazy_section){ FRAMES_FROM + hdr_sz, FRAMES_FROM + hdr_sz, b.sz - hdr_sz };
	s.marked[0] = (struct lazy_section){ s.frames.off, CODE + 0x100,
					     s.frames.sz < 40 ? s.frames.sz : 40 };
	if (!reader.pages)
		reader.pages = page_cache__new();
	b.file.sz = FRAMES_FROM + b.sz;
	x = lazy_table__new(&s, &b.file, reader);
	FUZZ_CHECK(x || errno == EINVAL || errno == EAGAIN);
	if (x)
		ask(x, &b);
	lazy_table__free(x);
	return 0;
}
