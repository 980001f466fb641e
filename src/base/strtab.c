// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/seed.h"

struct entry {
	uint64_t hash;
	char *str; /* in a chunk, with a NUL after sz bytes */
	size_t sz;
};

struct chunk {
	struct chunk *next;
	size_t used, cap;
	char data[];
};

#define CHUNK_SZ 65536

struct strtab {
	struct entry *entries;
	size_t cnt, cap;
	uint32_t *slots; /* open addressing; id + 1, 0: free; a power of two, at most half full */
	size_t slot_cnt;
	struct chunk *chunks;
	size_t sz;
};

struct strtab *strtab__new(void)
{
	struct strtab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->slot_cnt = 256;
	t->slots = calloc(t->slot_cnt, sizeof(*t->slots));
	t->cap = 128;
	t->entries = calloc(t->cap, sizeof(*t->entries));
	if (!t->slots || !t->entries) {
		strtab__free(t);
		return errno = ENOMEM, NULL;
	}
	strtab__reset(t);
	return t;
}

static void free_chunks(struct strtab *t)
{
	while (t->chunks) {
		struct chunk *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
}

void strtab__free(struct strtab *t)
{
	if (!t)
		return;
	free_chunks(t);
	free(t->entries);
	free(t->slots);
	free(t);
}

void strtab__reset(struct strtab *t)
{
	free_chunks(t);
	memset(t->slots, 0, t->slot_cnt * sizeof(*t->slots));
	t->entries[0] = (struct entry){ .str = (char *)"" };
	t->cnt = 1;
	t->sz = 0;
}

static char *copy(struct strtab *t, const void *s, size_t sz)
{
	struct chunk *c = t->chunks;
	char *at;

	if (!c || c->cap - c->used < sz + 1) {
		size_t cap = sz + 1 > CHUNK_SZ ? sz + 1 : CHUNK_SZ;

		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct chunk){ .next = t->chunks, .cap = cap };
		t->chunks = c;
	}
	at = c->data + c->used;
	memcpy(at, s, sz);
	at[sz] = '\0';
	c->used += sz + 1;
	return at;
}

static int grow(struct strtab *t)
{
	size_t slot_cnt = t->slot_cnt * 2;
	struct entry *entries;
	uint32_t *slots;

	if (t->cnt < t->cap)
		return 0;
	entries = realloc(t->entries, 2 * t->cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	slots = calloc(slot_cnt, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t id = 1; id < t->cnt; id++) {
		size_t i = entries[id].hash & (slot_cnt - 1);

		while (slots[i])
			i = (i + 1) & (slot_cnt - 1);
		slots[i] = (uint32_t)id + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_cnt = slot_cnt;
	t->cap *= 2;
	return 0;
}

/* Returns the slot of the string, or the free slot for it. */
static uint32_t *find(const struct strtab *t, const void *s, size_t sz, uint64_t hash)
{
	size_t i = hash & (t->slot_cnt - 1);

	for (; t->slots[i]; i = (i + 1) & (t->slot_cnt - 1)) {
		const struct entry *e = &t->entries[t->slots[i] - 1];

		if (e->hash == hash && e->sz == sz && memcmp(e->str, s, sz) == 0)
			break;
	}
	return &t->slots[i];
}

uint32_t strtab__id(struct strtab *t, const void *s, size_t sz)
{
	uint64_t hash;
	uint32_t *slot;
	char *str;

	if (sz == 0)
		return 0;
	hash = XXH3_64bits_withSeed(s, sz, seed__get());
	slot = find(t, s, sz, hash);
	if (*slot)
		return *slot - 1;
	if (grow(t) != 0 || !(str = copy(t, s, sz)))
		return 0;
	slot = find(t, s, sz, hash);
	t->entries[t->cnt] = (struct entry){ hash, str, sz };
	*slot = (uint32_t)++t->cnt;
	t->sz += sz;
	return *slot - 1;
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
