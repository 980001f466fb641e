// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash is that of the bytes that were stored. From 0.8.2 on xxhash.h reads them through types
 * that may not alias the key's type, unless XXH_FORCE_MEMORY_ACCESS is 0. GCC at -O2 then computes
 * the hash of a key as if nothing had been stored. The functions here have the shape in which that
 * happened: a struct is assigned, and its key is hashed in the same function.
 */
#include "lib/test.h"

#include <string.h>

#include "base/hash.h"

#define NOIPA __attribute__((noipa)) /* as if it were in another file */

struct payload {
	uint64_t words[20];
};

struct identity {
	uint8_t sz, bytes[20];
};

struct item_body {
	struct payload payload;
	struct identity identity;
};

struct range {
	uint64_t begin, end;
};

struct five {
	uint64_t words[5];
};

/* Returns the hash of a copy that the compiler cannot analyse. */
static NOIPA unsigned hash_of_bytes(const void *key, size_t sz)
{
	char copy[64];
	unsigned hash;

	memcpy(copy, key, sz);
	__asm__ volatile("" : : "r"(copy) : "memory");
	HASH_FUNCTION(copy, sz, hash);
	return hash;
}

/* For a type of keys: an item, add_NAME() and find_NAME(). */
#define KEYS_OF(name, type)                                                                \
	struct name##_item {                                                               \
		type key;                                                                  \
		struct payload payload;                                                    \
		struct identity identity;                                                  \
		struct name##_item *next;                                                  \
		UT_hash_handle hh;                                                         \
	};                                                                                 \
                                                                                           \
	static NOIPA void add_##name(struct name##_item **items, struct name##_item *item, \
				     const type *key, const struct item_body *body)        \
	{                                                                                  \
		*item = (struct name##_item){ .key = *key,                                 \
					      .payload = body->payload,                    \
					      .identity = body->identity };                \
		HASH_ADD(hh, *items, key, sizeof(item->key), item);                        \
	}                                                                                  \
                                                                                           \
	static NOIPA struct name##_item *find_##name(struct name##_item *items, type key)  \
	{                                                                                  \
		struct name##_item *item;                                                  \
                                                                                           \
		HASH_FIND(hh, items, &key, sizeof(key), item);                             \
		return item;                                                               \
	}                                                                                  \
                                                                                           \
	static void finds_##name(void **state)                                             \
	{                                                                                  \
		static struct name##_item item;                                            \
		struct name##_item *items = NULL;                                          \
		struct item_body body = { .identity.sz = 0 };                              \
		type key;                                                                  \
                                                                                           \
		(void)state;                                                               \
		memset(&key, 0x5a, sizeof(key));                                           \
		add_##name(&items, &item, &key, &body);                                    \
		assert_true(HASH_ADDED(&item));                                            \
		assert_int_equal(item.hh.hashv, hash_of_bytes(&key, sizeof(key)));         \
		assert_ptr_equal(find_##name(items, key), &item);                          \
		HASH_CLEAR(hh, items);                                                     \
	}

KEYS_OF(a_key_of_2_bytes, uint16_t)
KEYS_OF(a_key_of_4_bytes, uint32_t)
KEYS_OF(a_key_of_8_bytes, uint64_t)
KEYS_OF(a_pointer, const void *)
KEYS_OF(a_key_of_16_bytes, struct range)
KEYS_OF(a_key_of_40_bytes, struct five)

RUN_TESTS(cmocka_unit_test(finds_a_key_of_2_bytes), cmocka_unit_test(finds_a_key_of_4_bytes),
	  cmocka_unit_test(finds_a_key_of_8_bytes), cmocka_unit_test(finds_a_pointer),
	  cmocka_unit_test(finds_a_key_of_16_bytes), cmocka_unit_test(finds_a_key_of_40_bytes))
