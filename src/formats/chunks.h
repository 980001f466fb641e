/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers for data read from a pipe. New data go to the newest buffer. An older buffer is freed
 * when no byte in it is held any more. Private to src/formats.
 */
#ifndef FORMATS_CHUNKS_H
#define FORMATS_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

struct input_chunk {
	struct input_chunk *next; /* the next newer one, or the next in the free list */
	uint64_t end_off;	  /* stream offset of its end; the next one continues there */
	size_t cap;
	uint8_t data[];
};

struct chunks {
	struct input_chunk *first, *last; /* NULL if empty */
	struct input_chunk *spare;
};

/* The unread bytes of the last chunk. */
struct chunk_tail {
	const uint8_t *at;
	size_t sz;
	uint64_t off; /* offset in the stream */
};

/* Adds a chunk of at least sz bytes that starts with a copy of the tail. Returns NULL if out of
 * memory. */
struct input_chunk *chunks__add(struct chunks *, size_t sz, struct chunk_tail);
/* Releases the chunks that end at or before the offset, except the last one. */
void chunks__release(struct chunks *, uint64_t off);
void chunks__free(struct chunks *);

#endif
