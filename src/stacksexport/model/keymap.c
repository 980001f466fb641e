// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/keymap.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

void keymap__free(struct keymap *m)
{
	free(m->keys);
	hashindex__free(&m->index);
	*m = (struct keymap){ 0 };
}

/* Recordings choose the keys: the hash has a seed that they cannot know. */
static uint64_t keymap_hash(struct keymap_key key)
{
	return XXH3_64bits_withSeed(&key, sizeof(key), seed__get());
}

static uint32_t keymap_look_up(const struct keymap *m, struct keymap_key key, uint64_t hash)
{
	return HASHINDEX_FIND(&m->index, hash, i, m->keys[i].a == key.a && m->keys[i].b == key.b);
}

uint32_t keymap__find(const struct keymap *m, uint64_t a, uint64_t b)
{
	struct keymap_key key = { a, b };

	return keymap_look_up(m, key, keymap_hash(key));
}

static bool keymap_make_room(struct keymap *m)
{
	struct keymap_key *keys = array__room(m->keys, m->cnt, &m->cap, sizeof(*keys));

	if (keys)
		m->keys = keys;
	return keys;
}

uint32_t keymap__add(struct keymap *m, uint64_t a, uint64_t b, bool *is_new)
{
	struct keymap_key key = { a, b };
	uint64_t hash = keymap_hash(key);
	uint32_t index = keymap_look_up(m, key, hash);

	*is_new = false;
	if (index != KEYMAP_NONE)
		return index;
	if (!keymap_make_room(m) || hashindex__add(&m->index, hash, m->cnt) != 0)
		return KEYMAP_NONE;
	m->keys[m->cnt] = key;
	*is_new = true;
	return m->cnt++;
}
