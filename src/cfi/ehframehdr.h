/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .eh_frame_hdr (LSB 5.0 core, 10.6.2): which FDE begins last before an address. Read where it is
 * asked about, a page at a time; whatever its bytes say, they lead nowhere but to entries of it.
 */
#ifndef CFI_EHFRAMEHDR_H
#define CFI_EHFRAMEHDR_H

#include "elf/pagecache.h"

/* Where a section lies. */
struct lazy_section {
	uint64_t off, vaddr, sz;
};

/* Both count from where .eh_frame_hdr begins. */
struct hdr_entry {
	int32_t place, fde;
};

struct eh_frame_hdr {
	struct lazy_section hdr;
	uint32_t cnt;	 /* entries */
	int64_t end;	 /* of the code, as entries count */
	int32_t *firsts; /* of its blocks; INT32_MIN as long as nobody has asked */
};

/* Of a file whose frames are at one address, and whose code ends at another. 0; -EINVAL: it is not
 * as all linkers write it; -ENOMEM; or what the reader says. */
int eh_frame_hdr__open(struct eh_frame_hdr *, const struct page_reader *,
		       const struct lazy_section *hdr, uint64_t frames, uint64_t code_end);
void eh_frame_hdr__close(struct eh_frame_hdr *);
size_t eh_frame_hdr__sz(const struct eh_frame_hdr *); /* bytes of memory beside the struct */

struct hdr_hit {
	struct hdr_entry entries[2]; /* the last one not behind the place, and the next one */
	bool before; /* there is none: the first of all is in its place, and alone */
	bool last;   /* there is no next one */
};

/* 0; -EINVAL when the entries are in no order; or what the reader says. */
int eh_frame_hdr__find(struct eh_frame_hdr *, const struct page_reader *, int64_t place,
		       struct hdr_hit *);

#endif
