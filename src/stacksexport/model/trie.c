// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/trie.h"

#include <string.h>

uint32_t trie__child(struct trie *t, uint32_t parent, uint32_t function)
{
	bool is_new;
	uint32_t index = keymap__add(&t->children, parent, function, &is_new);

	return index == KEYMAP_NONE ? KEYMAP_NONE : index + 1;
}

void trie__sum(const struct trie *t, const int64_t *self, int64_t *total)
{
	memcpy(total, self, trie__cnt(t) * sizeof(*total));
	for (uint32_t node = trie__cnt(t); --node > TRIE_ROOT;)
		total[trie__parent(t, node)] = trie__add(total[trie__parent(t, node)], total[node]);
}

void trie__free(struct trie *t)
{
	keymap__free(&t->children);
}
