/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of an ELF file that has no table yet, one at a time. .eh_frame_hdr gives the FDE of an
 * address; only that FDE is compiled, as for a table (cfi/tablerows.h), with the same result. The
 * file is read on demand. If the file is not in the form that linkers write, there is no answer
 * until the table exists.
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
	struct lazy_section marked[OVERRIDES_SECTIONS]; /* as in cfi/overrides.h; .sz 0: none */
};

struct lazy_table;

/* The function that reads the file, and the cache for its pages (borrowed; NULL: none). */
struct lazy_reader {
	elf_file_read_fn read;
	struct page_cache *pages;
};

/* Copies the parts of the source that it needs. Returns NULL and sets errno: EINVAL if the search
 * table has an unusual form, or the error of `read`. */
struct lazy_table *lazy_table__new(const struct lazy_source *, const struct elf_file *,
				   struct lazy_reader);
void lazy_table__free(struct lazy_table *);	  /* accepts NULL */
size_t lazy_table__sz(const struct lazy_table *); /* bytes of memory */

struct lazy_query {
	const struct elf_file *file;
	elf_file_read_fn read;
	uint64_t off; /* in the file */
};

/* Sets the rule to what cfi_table__at() would return. Returns 0, -EINVAL if only the table has the
 * answer, or the error of `read`. */
int lazy_table__rule(struct lazy_table *, const struct lazy_query *, struct packed_rule *);

/* Returns the number of look-ups that cost as much as building the table. */
size_t lazy_table__worth(const struct lazy_table *);

#endif
