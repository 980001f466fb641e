/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of an ELF file that has no table yet, one at a time: .eh_frame_hdr says which FDE holds
 * an address, and only that one is compiled, as for a table (unwind/framerows.h), with the same
 * result. All is read when it is asked for. Where the file is not as linkers write it there is no
 * answer: the table has it.
 */
#ifndef UNWIND_FRAMEINDEX_H
#define UNWIND_FRAMEINDEX_H

#include "unwind/frametable.h"
#include "unwind/marks.h"
#include "unwind/searchtable.h"

struct index_source {
	const struct table_segment *segments; /* as in struct table_source */
	size_t segment_cnt;
	struct index_section hdr, frames;
	struct index_section marked[MARKS_SECTIONS]; /* as unwind/marks.h has them; sz 0: none */
};

struct frame_index;

/* Who reads a file, and where its pages are kept (borrowed; NULL: nowhere). */
struct index_reader {
	elf_file_read_fn read;
	struct file_pages *pages;
};

/* Copies what it needs. NULL + errno: EINVAL when the search table is odd, or what `read` said. */
struct frame_index *frame_index__new(const struct index_source *, const struct elf_file *,
				     struct index_reader);
void frame_index__free(struct frame_index *);	    /* accepts NULL */
size_t frame_index__sz(const struct frame_index *); /* bytes of memory */

/*
 * The rule at an offset of the file, which is read by `read`: what frame_table__at() would say. 0;
 * -EINVAL: only the table knows; or what `read` said.
 */
struct index_query {
	const struct elf_file *file;
	elf_file_read_fn read;
	uint64_t off;
};
int frame_index__rule(struct frame_index *, const struct index_query *, struct flat_rule *);

/* So many answers cost as much as the table. */
size_t frame_index__worth(const struct frame_index *);

#endif
