/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of an ELF file that has no table yet, one at a time: .eh_frame_hdr says which FDE holds
 * an address, and only that one is compiled, as for a table (cfi/tablerows.h), with the same
 * result. All is read when it is asked for. Where the file is not as linkers write it there is no
 * answer: the table has it.
 */
#ifndef CFI_LAZYTABLE_H
#define CFI_LAZYTABLE_H

#include "cfi/table.h"
#include "cfi/overrides.h"
#include "cfi/ehframehdr.h"

struct lazy_source {
	const struct table_segment *segments; /* as in struct table_source */
	size_t segment_cnt;
	struct lazy_section hdr, frames;
	struct lazy_section
		marked[OVERRIDES_SECTIONS]; /* as cfi/overrides.h has them; sz 0: none */
};

struct lazy_table;

/* Who reads a file, and where its pages are kept (borrowed; NULL: nowhere). */
struct lazy_reader {
	elf_file_read_fn read;
	struct page_cache *pages;
};

/* Copies what it needs. NULL + errno: EINVAL when the search table is odd, or what `read` said. */
struct lazy_table *lazy_table__new(const struct lazy_source *, const struct elf_file *,
				   struct lazy_reader);
void lazy_table__free(struct lazy_table *);	  /* accepts NULL */
size_t lazy_table__sz(const struct lazy_table *); /* bytes of memory */

/*
 * The rule at an offset of the file, which is read by `read`: what cfi_table__at() would say. 0;
 * -EINVAL: only the table knows; or what `read` said.
 */
struct lazy_query {
	const struct elf_file *file;
	elf_file_read_fn read;
	uint64_t off;
};
int lazy_table__rule(struct lazy_table *, const struct lazy_query *, struct packed_rule *);

/* So many answers cost as much as the table. */
size_t lazy_table__worth(const struct lazy_table *);

#endif
