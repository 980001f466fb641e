/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the footer for a column chunk: metadata, statistics and page index. */
#ifndef STORE_CHUNKMETA_H
#define STORE_CHUNKMETA_H

#include "store/chunk.h"

/* Fills c from the pages in w; dict->off is 0 if there is no dictionary page. Returns 0 or -ENOMEM.
 */
int chunk__describe(struct chunk *c, const struct leaf *, struct chunk_writer *w,
		    const struct page *dict);

/* Returns the column's value of enum Type in parquet.thrift. */
int32_t column__physical(const struct column *);

#endif
