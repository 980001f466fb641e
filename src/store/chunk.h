/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A column chunk: chooses the encoding, writes the pages, and collects their descriptions for the
 * footer. */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "store/page.h"

struct chunk_writer {
	struct page_writer pages;
	struct dict dict;
	struct page *v; /* data pages of the current chunk */
	size_t cnt, cap;
	struct buf bound; /* scratch */
};

/* Encoded Thrift structs and sizes, owned by the caller of chunk_writer__write(). */
struct chunk {
	struct buf meta;	 /* ColumnMetaData */
	struct buf column_index; /* ColumnIndex */
	struct buf offset_index; /* OffsetIndex */
	uint64_t off;		 /* of the first page */
	uint64_t raw_sz, stored_sz;
};

int chunk_writer__init(struct chunk_writer *, struct sink *, int level);
void chunk_writer__free(struct chunk_writer *);

/* Fills *chunk, which must be zeroed. Returns 0 or -errno; call chunk__free() in both cases. */
int chunk_writer__write(struct chunk_writer *, const struct leaf *, struct chunk *);
void chunk__free(struct chunk *);

#endif
