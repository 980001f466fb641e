// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/dict.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/seed.h"

/* Building stops if nearly all of the first SAMPLE values differ. */
#define SAMPLE	   8192
#define SAMPLE_MAX (SAMPLE / 8 * 7)
#define KEYS_MAX   (1u << 20)
#define DIRECT_MAX (1u << 16)
#define SLOTS_MIN  512

static bool dict_grow(uint32_t **array, size_t *cap, size_t cnt)
{
	uint32_t *new;

	if (cnt <= *cap && *array)
		return true;
	new = reallocarray(*array, cnt + 1, sizeof(*new));
	if (!new)
		return false;
	*array = new;
	*cap = cnt;
	return true;
}

void dict__free(struct dict *d)
{
	free(d->keys);
	free(d->idx);
	free(d->slots);
	free(d->ranks);
	*d = (struct dict){ 0 };
}

/* Returns the slot of a key. Ids of strings, CPUs and threads are close together: their slot is
 * their distance from the smallest one. Other keys are hashed, because addresses share their low
 * bits. */
static size_t dict_slot_of(const struct dict *d, uint64_t key)
{
	size_t i;

	if (d->direct)
		return key - d->min;
	i = seed__mix(key) & (d->slot_cnt - 1);
	while (d->slots[i] && d->keys[d->slots[i] - 1] != key)
		i = (i + 1) & (d->slot_cnt - 1);
	return i;
}

/* Empties the dictionary and chooses the kind of slots. */
static int dict_reset(struct dict *d, const struct leaf *l)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (size_t i = 0; i < l->value_cnt; i++) {
		min = l->values[i] < min ? l->values[i] : min;
		max = l->values[i] > max ? l->values[i] : max;
	}
	d->direct = l->value_cnt && max - min < DIRECT_MAX;
	d->min = min;
	d->cnt = 0;
	d->slot_cnt = d->direct ? max - min + 1 : SLOTS_MIN;
	if (!dict_grow(&d->slots, &d->slot_cap, d->slot_cnt))
		return -ENOMEM;
	memset(d->slots, 0, d->slot_cnt * sizeof(*d->slots));
	return 0;
}

static int dict_grow_keys(struct dict *d)
{
	uint64_t *keys = array__room(d->keys, d->cnt, &d->key_cap, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	d->keys = keys;
	return 0;
}

/* Doubles the hashed slots, which are at most half full. */
static int dict_grow_slots(struct dict *d)
{
	if (!dict_grow(&d->slots, &d->slot_cap, 2 * d->slot_cnt))
		return -ENOMEM;
	d->slot_cnt *= 2;
	memset(d->slots, 0, d->slot_cnt * sizeof(*d->slots));
	for (uint32_t k = 0; k < d->cnt; k++)
		d->slots[dict_slot_of(d, d->keys[k])] = k + 1;
	return 0;
}

/* Returns the number of the key, or -ENOMEM. */
static int dict_add(struct dict *d, uint64_t key)
{
	size_t i = dict_slot_of(d, key);

	if (d->slots[i])
		return (int)d->slots[i] - 1;
	if (d->cnt == d->key_cap && dict_grow_keys(d) != 0)
		return -ENOMEM;
	if (!d->direct && 2 * (size_t)d->cnt >= d->slot_cnt) {
		if (dict_grow_slots(d) != 0)
			return -ENOMEM;
		i = dict_slot_of(d, key);
	}
	d->keys[d->cnt] = key;
	d->slots[i] = ++d->cnt;
	return (int)d->cnt - 1;
}

/* Numbers the keys in their order of appearance. Returns 1, 0 if there are too many, or -ENOMEM. */
static int dict_number(struct dict *d, const struct leaf *l)
{
	for (size_t i = 0; i < l->value_cnt; i++) {
		int k;

		if (i && l->values[i] == l->values[i - 1]) {
			d->idx[i] = d->idx[i - 1];
			continue;
		}
		k = dict_add(d, l->values[i]);
		if (k < 0)
			return k;
		d->idx[i] = (uint32_t)k;
		if (d->cnt > KEYS_MAX || (i == SAMPLE && d->cnt > SAMPLE_MAX))
			return 0;
	}
	return 1;
}

struct by_value {
	const struct leaf *leaf;
	const uint64_t *keys;
};

static int dict_cmp(const void *a, const void *b, void *arg)
{
	const struct by_value *by = arg;

	return leaf__cmp(by->leaf, by->keys[*(const uint32_t *)a], by->keys[*(const uint32_t *)b]);
}

/* Renumbers the keys by value, so that indexes have the order of values: the bounds of a page are
 * then found among integers. */
static int dict_sort(struct dict *d, const struct leaf *l)
{
	struct by_value by = { l, d->keys };
	uint32_t *perm, *rank;
	uint64_t *keys;

	if (!dict_grow(&d->ranks, &d->rank_cap, 2 * (size_t)d->cnt))
		return -ENOMEM;
	keys = calloc(d->key_cap, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	perm = d->ranks;
	rank = d->ranks + d->cnt;
	for (uint32_t k = 0; k < d->cnt; k++)
		perm[k] = k;
	qsort_r(perm, d->cnt, sizeof(*perm), dict_cmp, &by);
	for (uint32_t k = 0; k < d->cnt; k++) {
		keys[k] = d->keys[perm[k]];
		rank[perm[k]] = k;
	}
	for (size_t i = 0; i < l->value_cnt; i++)
		d->idx[i] = rank[d->idx[i]];
	free(d->keys);
	d->keys = keys;
	return 1;
}

/* For a column with one value, as most columns of most recordings: kind, host, columns of sources
 * that are not recorded. */
static int dict_build_of_one(struct dict *d, const struct leaf *l)
{
	if (dict_add(d, d->min) < 0)
		return -ENOMEM;
	memset(d->idx, 0, l->value_cnt * sizeof(*d->idx));
	return 1;
}

int dict__build(struct dict *d, const struct leaf *l)
{
	int made;

	if (!dict_grow(&d->idx, &d->idx_cap, l->value_cnt) || dict_reset(d, l) != 0)
		return -ENOMEM;
	if (d->direct && d->slot_cnt == 1)
		return dict_build_of_one(d, l);
	made = dict_number(d, l);
	return made == 1 && d->cnt ? dict_sort(d, l) : made;
}
