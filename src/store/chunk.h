/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A column chunk: chooses the encoding, writes the pages, and collects their descriptions for the
 * footer. */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "store/chunkmeta.h"
#include "store/page.h"

struct chunk_writer {
	struct page_writer pages;
	struct dict dict;
	struct chunk_pages written; /* of the current chunk */
};

int chunk_writer__init(struct chunk_writer *, struct sink *, int level);
void chunk_writer__free(struct chunk_writer *);

/* Fills *chunk, which must be zeroed. Returns 0 or -errno; call chunk__free() in both cases. */
int chunk_writer__write(struct chunk_writer *, const struct leaf *, struct chunk *);

#endif
