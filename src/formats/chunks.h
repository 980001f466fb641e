/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was read from a pipe, in buffers that come and go: the newest is read into, those before it
 * stay as long as something in them is held. Private to src/formats.
 */
#ifndef FORMATS_CHUNKS_H
#define FORMATS_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

struct chunk {
	struct chunk *next; /* a newer one, or of those that are free */
	uint64_t end_off;   /* of the stream: what is behind is in the next one */
	size_t cap;
	uint8_t data[];
};

struct chunks {
	struct chunk *first, *last; /* NULL before the first */
	struct chunk *spare;
};

/* What is in the last one and not stepped over yet. */
struct chunk_tail {
	const uint8_t *at;
	size_t sz;
	uint64_t off; /* of the stream */
};

/* A new one of at least sz bytes, which begins with a copy of the tail. NULL without memory. */
struct chunk *chunks__add(struct chunks *, size_t sz, struct chunk_tail);
/* Those go in which everything is before the offset, but for the last. */
void chunks__let_go(struct chunks *, uint64_t off);
void chunks__free(struct chunks *);

#endif
