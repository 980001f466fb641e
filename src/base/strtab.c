// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/hashindex.h"
#include "base/seed.h"

struct strtab_entry {
	char *str; /* in a chunk, with a NUL after sz bytes */
	size_t sz;
};

struct strtab_chunk {
	struct strtab_chunk *next;
	size_t used, cap;
	char data[];
};

#define CHUNK_SZ 65536

struct strtab {
	struct strtab_entry *entries;
	size_t cnt, cap;
	struct hashindex index;
	struct strtab_chunk *chunks;
	size_t sz;
};

struct strtab *strtab__new(void)
{
	struct strtab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->entries = array__room(NULL, 0, &t->cap, sizeof(*t->entries));
	if (!t->entries) {
		strtab__free(t);
		return errno = ENOMEM, NULL;
	}
	strtab__reset(t);
	return t;
}

static void strtab_free_chunks(struct strtab *t)
{
	while (t->chunks) {
		struct strtab_chunk *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
}

void strtab__free(struct strtab *t)
{
	if (!t)
		return;
	strtab_free_chunks(t);
	free(t->entries);
	hashindex__free(&t->index);
	free(t);
}

void strtab__reset(struct strtab *t)
{
	strtab_free_chunks(t);
	hashindex__clear(&t->index);
	t->entries[0] = (struct strtab_entry){ .str = (char *)"" };
	t->cnt = 1;
	t->sz = 0;
}

static char *strtab_copy(struct strtab *t, const void *s, size_t sz)
{
	struct strtab_chunk *c = t->chunks;
	char *at;

	if (!c || c->cap - c->used < sz + 1) {
		size_t cap = sz + 1 > CHUNK_SZ ? sz + 1 : CHUNK_SZ;

		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct strtab_chunk){ .next = t->chunks, .cap = cap };
		t->chunks = c;
	}
	at = c->data + c->used;
	memcpy(at, s, sz);
	at[sz] = '\0';
	c->used += sz + 1;
	return at;
}

static bool strtab_is_equal(const struct strtab_entry *e, const void *s, size_t sz)
{
	return e->sz == sz && memcmp(e->str, s, sz) == 0;
}

static bool strtab_make_room(struct strtab *t)
{
	struct strtab_entry *entries = array__room(t->entries, t->cnt, &t->cap, sizeof(*entries));

	if (entries)
		t->entries = entries;
	return entries;
}

uint32_t strtab__id(struct strtab *t, const void *s, size_t sz)
{
	uint64_t hash;
	uint32_t id;
	char *str;

	if (sz == 0)
		return 0;
	hash = XXH3_64bits_withSeed(s, sz, seed__get());
	id = HASHINDEX_FIND(&t->index, hash, i, strtab_is_equal(&t->entries[i], s, sz));
	if (id != HASHINDEX_NONE)
		return id;
	if (!strtab_make_room(t) || !(str = strtab_copy(t, s, sz)) ||
	    hashindex__add(&t->index, hash, (uint32_t)t->cnt) != 0)
		return 0;
	t->entries[t->cnt] = (struct strtab_entry){ str, sz };
	t->sz += sz;
	return (uint32_t)t->cnt++;
}

const char *strtab__str(const struct strtab *t, uint32_t id, size_t *sz)
{
	if (sz)
		*sz = t->entries[id].sz;
	return t->entries[id].str;
}

size_t strtab__cnt(const struct strtab *t)
{
	return t->cnt;
}

size_t strtab__sz(const struct strtab *t)
{
	return t->sz;
}
