/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .eh_frame_hdr (LSB 5.0 core, 10.6.2): which FDE begins last before an address. Read where it is
 * asked about, a page at a time; whatever its bytes say, they lead nowhere but to entries of it.
 */
#ifndef UNWIND_SEARCHTABLE_H
#define UNWIND_SEARCHTABLE_H

#include "unwind/filepages.h"

/* Where a section lies. */
struct index_section {
	uint64_t off, vaddr, sz;
};

/* Both count from where .eh_frame_hdr begins. */
struct search_entry {
	int32_t place, fde;
};

struct search_table {
	struct index_section hdr;
	uint32_t cnt;	 /* entries */
	int64_t end;	 /* of the code, as entries count */
	int32_t *firsts; /* of its blocks; INT32_MIN as long as nobody has asked */
};

/* Of a file whose frames are at one address, and whose code ends at another. 0; -EINVAL: it is not
 * as all linkers write it; -ENOMEM; or what the reader says. */
int search_table__open(struct search_table *, const struct page_reader *,
		       const struct index_section *hdr, uint64_t frames, uint64_t code_end);
void search_table__close(struct search_table *);
size_t search_table__sz(const struct search_table *); /* bytes of memory beside the struct */

struct search_hit {
	struct search_entry entries[2]; /* the last one not behind the place, and the next one */
	bool before; /* there is none: the first of all is in its place, and alone */
	bool last;   /* there is no next one */
};

/* 0; -EINVAL when the entries are in no order; or what the reader says. */
int search_table__find(struct search_table *, const struct page_reader *, int64_t place,
		       struct search_hit *);

#endif
