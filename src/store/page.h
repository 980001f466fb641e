/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of a column chunk: they are cut, encoded, compressed, checksummed and appended to the file.
 */
#ifndef STORE_PAGE_H
#define STORE_PAGE_H

#include <zstd.h>

#include "store/dict.h"
#include "store/sink.h"

/* parquet.thrift, enum Encoding */
enum encoding {
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_DELTA = 5,
	ENCODING_DICT = 8,
};

/* parquet.thrift, enum PageType; every reader knows version 1. */
enum page_type { PAGE_DATA = 0, PAGE_DICT = 2 };

/* A page ends with a row, after this many rows or bytes of values. */
#define PAGE_ROWS 20000
#define PAGE_SZ	  (1u << 20)

/* Sizes in headers are signed 32 bits. The room above PAGE_MAX is for levels, and for what zstd
 * adds to incompressible data. The longest row has RECORDING_FRAMES_MAX strings of STRING_MAX. */
#define PAGE_MAX (3u << 29)

struct page {
	enum encoding encoding;
	size_t from, cnt;	      /* level entries */
	size_t value_from, value_cnt; /* values */
	size_t row_from, row_cnt;
	size_t values_sz;	    /* approximate bytes of the values */
	uint64_t min, max;	    /* values; set if value_cnt is not 0 */
	uint64_t off;		    /* of its header, in the file */
	uint32_t raw_sz, stored_sz; /* including the header */
};

struct page_writer {
	struct sink *sink;		 /* borrowed */
	ZSTD_CCtx *zstd;		 /* NULL: no compression */
	struct buf body, zipped, header; /* scratch */
};

/* `level` is zstd's, 0: none. Returns 0 or -ENOMEM; call page_writer__free() in both cases. */
int page_writer__init(struct page_writer *, struct sink *, int level);
void page_writer__free(struct page_writer *);

/* Finds the end of the page that starts at p->from, p->value_from, p->row_from. */
void page__cut(struct page *, const struct leaf *);

/* Both set p->off and the sizes. They return 0 or -errno, -EFBIG for a page larger than PAGE_MAX.
 * The dictionary is used for ENCODING_DICT only. */
int page_writer__data(struct page_writer *, struct page *, const struct leaf *,
		      const struct dict *);
int page_writer__dict(struct page_writer *, struct page *, const struct leaf *,
		      const struct dict *);

#endif
