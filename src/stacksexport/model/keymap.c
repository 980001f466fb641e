// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/keymap.h"

#include <stdlib.h>

#include "base/hash.h"

#define SLOTS_MIN 1024u
#define CNT_MAX	  (1u << 30)

void keymap__free(struct keymap *m)
{
	free(m->keys);
	free(m->slots);
	*m = (struct keymap){ 0 };
}

/* Recordings choose the keys: the hash has a seed that they cannot know. */
static uint32_t keymap_hash(uint64_t a, uint64_t b)
{
	struct keymap_key key = { a, b };

	return (uint32_t)XXH3_64bits_withSeed(&key, sizeof(key), seed__get());
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t keymap_slot(const struct keymap *m, uint64_t a, uint64_t b)
{
	uint32_t at = keymap_hash(a, b) & m->mask;

	while (m->slots[at]) {
		const struct keymap_key *key = &m->keys[m->slots[at] - 1];

		if (key->a == a && key->b == b)
			break;
		at = (at + 1) & m->mask;
	}
	return at;
}

uint32_t keymap__find(const struct keymap *m, uint64_t a, uint64_t b)
{
	return m->slots ? m->slots[keymap_slot(m, a, b)] - 1 : KEYMAP_NONE;
}

/* Half of the slots stay free. */
static bool keymap_grow(struct keymap *m)
{
	uint32_t slot_cnt = m->slots ? 2 * (m->mask + 1) : SLOTS_MIN;
	uint32_t *slots = m->cnt < CNT_MAX ? calloc(slot_cnt, sizeof(*slots)) : NULL;
	struct keymap_key *keys = slots ? reallocarray(m->keys, slot_cnt / 2, sizeof(*keys)) : NULL;

	if (!keys) {
		free(slots);
		return false;
	}
	free(m->slots);
	m->slots = slots;
	m->keys = keys;
	m->mask = slot_cnt - 1;
	for (uint32_t i = 0; i < m->cnt; i++)
		m->slots[keymap_slot(m, keys[i].a, keys[i].b)] = i + 1;
	return true;
}

uint32_t keymap__add(struct keymap *m, uint64_t a, uint64_t b, bool *is_new)
{
	uint32_t at;

	*is_new = false;
	if ((!m->slots || m->cnt == (m->mask + 1) / 2) && !keymap_grow(m))
		return KEYMAP_NONE;
	at = keymap_slot(m, a, b);
	if (!m->slots[at]) {
		m->keys[m->cnt] = (struct keymap_key){ a, b };
		m->slots[at] = ++m->cnt;
		*is_new = true;
	}
	return m->slots[at] - 1;
}
