/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the footer says of a column chunk: its metadata, statistics and page index. */
#ifndef STORE_CHUNKMETA_H
#define STORE_CHUNKMETA_H

#include "store/chunk.h"

/* Fills c from the pages in w; dict->off is 0 when there is no dictionary page. 0 or -ENOMEM. */
int chunk__describe(struct chunk *c, const struct leaf *, struct chunk_writer *w,
		    const struct page *dict);

/* parquet.thrift, enum Type, of a column. */
int32_t column__physical(const struct column *);

#endif
