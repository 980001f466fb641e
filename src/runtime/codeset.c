// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codeset.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

void code_set__clear(struct code_set *s)
{
	for (size_t i = 0; i < s->cnt; i++)
		code_blob__free(s->blobs[i]);
	free(s->blobs);
	*s = (struct code_set){ 0 };
}

/* Returns the index of the first piece that ends after an address. */
static size_t codeset_find_after(const struct code_set *s, uint64_t addr)
{
	return SEARCH_COUNT(s->blobs, s->cnt, b, (*b)->end <= addr);
}

struct code_blob *code_set__find(const struct code_set *s, uint64_t addr)
{
	size_t i = codeset_find_after(s, addr);

	return i < s->cnt && s->blobs[i]->start <= addr ? s->blobs[i] : NULL;
}

void code_set__put(struct code_set *s, struct code_blob *b)
{
	struct code_blob **room =
		array__room(s->blobs, s->cnt, &s->cap, sizeof(struct code_blob *));
	size_t first, past;

	if (!room) {
		code_blob__free(b);
		return;
	}
	s->blobs = room;
	first = past = codeset_find_after(s, b->start);
	for (; past < s->cnt && room[past]->start < b->end; past++) {
		s->sz -= code_blob__memory(room[past]);
		code_blob__free(room[past]);
	}
	memmove(room + first + 1, room + past, (s->cnt - past) * sizeof(struct code_blob *));
	room[first] = b;
	s->cnt += 1 - (past - first);
	s->sz += code_blob__memory(b);
}
