// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdlib.h>

#include "base/hashindex.h"

#define KEY_CNT 300

/* Keys by number; `hashes` selects how many of them share a hash. */
static uint32_t find(const struct hashindex *x, const uint32_t *keys, uint32_t key, uint32_t hashes)
{
	return HASHINDEX_FIND(x, key % hashes, i, keys[i] == key);
}

/* Adds and removes at random, and compares with a list of the keys that are present. */
static void check_with(uint32_t hashes)
{
	struct hashindex x = { 0 };
	uint32_t keys[KEY_CNT], at[KEY_CNT], cnt = 0;

	for (uint32_t k = 0; k < KEY_CNT; k++) {
		keys[k] = (k * 7919) % KEY_CNT;
		at[keys[k]] = k;
	}
	for (bool present[KEY_CNT] = { 0 }; cnt < 20000; cnt++) {
		uint32_t key = (uint32_t)rand() % KEY_CNT;

		assert_int_equal(find(&x, keys, key, hashes),
				 present[key] ? at[key] : HASHINDEX_NONE);
		if (present[key])
			hashindex__remove(&x, key % hashes, at[key]);
		else
			assert_int_equal(hashindex__add(&x, key % hashes, at[key]), 0);
		present[key] = !present[key];
	}
	hashindex__free(&x);
}

static void finds_what_was_added_and_not_removed(void **state)
{
	(void)state;
	srand(3);
	check_with(1);
	check_with(7);
	check_with(64);
	check_with(UINT32_MAX);
}

static void an_empty_index_finds_nothing(void **state)
{
	struct hashindex x = { 0 };
	const uint32_t keys[] = { 5 };

	(void)state;
	assert_int_equal(find(&x, keys, 5, 9), HASHINDEX_NONE);
	hashindex__clear(&x);
	assert_int_equal(hashindex__add(&x, 5, 0), 0);
	assert_int_equal(find(&x, keys, 5, 9), 0);
	hashindex__clear(&x);
	assert_int_equal(find(&x, keys, 5, 9), HASHINDEX_NONE);
	assert_int_equal(hashindex__sz(&x), 32 * sizeof(struct hashindex_slot));
	hashindex__free(&x);
	assert_int_equal(hashindex__sz(&x), 0);
}

static void only_low_bits_of_the_hash_count(void **state)
{
	struct hashindex x = { 0 };

	(void)state;
	assert_int_equal(hashindex__add(&x, 0x500000001, 4), 0);
	assert_int_equal(HASHINDEX_FIND(&x, 1, i, i == 4), 4);
	hashindex__remove(&x, 1, 4);
	assert_int_equal(x.cnt, 0);
	hashindex__free(&x);
}

RUN_TESTS(cmocka_unit_test(finds_what_was_added_and_not_removed),
	  cmocka_unit_test(an_empty_index_finds_nothing),
	  cmocka_unit_test(only_low_bits_of_the_hash_count))
