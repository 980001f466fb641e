/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs of 64-bit keys → dense indexes 0, 1, …, in the order in which they were added. */
#ifndef STACKSEXPORT_MODEL_KEYMAP_H
#define STACKSEXPORT_MODEL_KEYMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"

#define KEYMAP_NONE HASHINDEX_NONE

struct keymap_key {
	uint64_t a, b;
};

/* Zeroed is empty. Key i is keys[i]. */
struct keymap {
	struct keymap_key *keys;
	struct hashindex index;
	uint32_t cnt;
	size_t cap;
};

void keymap__free(struct keymap *);

/* Returns the index of the key, or KEYMAP_NONE if it is absent. */
uint32_t keymap__find(const struct keymap *, uint64_t a, uint64_t b);

/* Returns the index of the key, which is added if it is absent; *is_new says so. Returns
 * KEYMAP_NONE if out of memory. */
uint32_t keymap__add(struct keymap *, uint64_t a, uint64_t b, bool *is_new);

#endif
