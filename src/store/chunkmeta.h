/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the footer for a column chunk: metadata, statistics and page index. */
#ifndef STORE_CHUNKMETA_H
#define STORE_CHUNKMETA_H

#include "store/page.h"

/* Encoded Thrift structs and sizes, owned by the caller of chunk_writer__write(). */
struct chunk {
	struct buf meta;	 /* ColumnMetaData */
	struct buf column_index; /* ColumnIndex */
	struct buf offset_index; /* OffsetIndex */
	uint64_t off;		 /* of the first page */
	uint64_t raw_sz, stored_sz;
};

/* The pages of a chunk. */
struct chunk_pages {
	struct page dict; /* .off is 0 if there is no dictionary page */
	struct page *v;	  /* data pages */
	size_t cnt, cap;
	bool zipped;	  /* compressed with zstd */
	struct buf bound; /* scratch */
};

/* Fills the chunk from its pages. Returns 0 or -ENOMEM. */
int chunk__describe(struct chunk *, const struct leaf *, struct chunk_pages *);
/* Frees the contents. */
void chunk__free(struct chunk *);

/* Returns the column's value of enum Type in parquet.thrift. */
int32_t column__physical(const struct column *);

#endif
