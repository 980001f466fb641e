// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/chunks.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SZ (1u << 20)

static struct input_chunk *chunks_take(struct chunks *c, size_t sz)
{
	struct input_chunk *n = c->spare;

	if (sz <= CHUNK_SZ && n) {
		c->spare = n->next;
		return n;
	}
	sz = sz > CHUNK_SZ ? sz : CHUNK_SZ;
	n = malloc(sizeof(*n) + sz);
	if (n)
		n->cap = sz;
	return n;
}

static void chunks_put(struct chunks *c, struct input_chunk *n)
{
	if (n->cap > CHUNK_SZ) {
		free(n);
		return;
	}
	n->next = c->spare;
	c->spare = n;
}

struct input_chunk *chunks__add(struct chunks *c, size_t sz, struct chunk_tail tail)
{
	struct input_chunk *n = chunks_take(c, sz);

	if (!n)
		return NULL;
	if (tail.sz)
		memcpy(n->data, tail.at, tail.sz);
	n->next = NULL;
	if (c->last) {
		c->last->end_off = tail.off;
		c->last->next = n;
	} else {
		c->first = n;
	}
	c->last = n;
	return n;
}

void chunks__release(struct chunks *c, uint64_t off)
{
	while (c->first != c->last && c->first->end_off <= off) {
		struct input_chunk *gone = c->first;

		c->first = gone->next;
		chunks_put(c, gone);
	}
}

static void chunks_free_list(struct input_chunk *c)
{
	for (struct input_chunk *next; c; c = next) {
		next = c->next;
		free(c);
	}
}

void chunks__free(struct chunks *c)
{
	chunks_free_list(c->first);
	chunks_free_list(c->spare);
}
