/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the last FDE that begins at or before an address in .eh_frame_hdr (LSB 5.0 core, 10.6.2).
 * Reads the section on demand, a page at a time. Whatever its bytes are, a look-up reads only
 * entries of the section.
 */
#ifndef CFI_EHFRAMEHDR_H
#define CFI_EHFRAMEHDR_H

#include "elf/pagecache.h"

/* The position of a section. */
struct lazy_section {
	uint64_t off, vaddr, sz;
};

/* Both offsets count from the start of .eh_frame_hdr. */
struct hdr_entry {
	int32_t place, fde;
};

struct eh_frame_hdr {
	struct lazy_section hdr;
	uint32_t cnt;	 /* number of entries */
	int64_t end;	 /* of the code, counted like the entries */
	int32_t *firsts; /* first place of each block of entries; INT32_MIN until it is read */
};

/* `frames` is the address of .eh_frame, `code_end` the end of the code. Returns 0, -EINVAL if the
 * section is not in the form that all linkers write, -ENOMEM, or the reader's error. */
int eh_frame_hdr__open(struct eh_frame_hdr *, const struct page_reader *,
		       const struct lazy_section *hdr, uint64_t frames, uint64_t code_end);
void eh_frame_hdr__close(struct eh_frame_hdr *);
size_t eh_frame_hdr__sz(const struct eh_frame_hdr *); /* bytes of memory, without the struct */

struct hdr_hit {
	struct hdr_entry entries[2]; /* the last one at or before the place, and the next one */
	/* The place is before all entries: entries[0] is the first one, entries[1] is not set. */
	bool before;
	bool last; /* there is no next entry */
};

/* Returns 0, -EINVAL if the entries are not sorted, or the reader's error. */
int eh_frame_hdr__find(struct eh_frame_hdr *, const struct page_reader *, int64_t place,
		       struct hdr_hit *);

#endif
