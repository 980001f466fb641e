/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uthash, configured to survive allocation failures (check HASH_ADDED() after each HASH_ADD), with
 * hashes that other processes cannot predict. It is for elements with their own allocation;
 * base/hashindex.h is for elements of an array.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>
#if XXH_FORCE_MEMORY_ACCESS != 0
#error "build with -DXXH_FORCE_MEMORY_ACCESS=0: otherwise GCC drops the stores of keys that are hashed"
#endif

#include "base/seed.h"

#define HASH_NONFATAL_OOM	  1
#define uthash_nonfatal_oom(elem) ((void)(elem))
#define HASH_FUNCTION(key, sz, value) \
	((value) = (unsigned)XXH3_64bits_withSeed(key, sz, seed__get()))
#include <uthash.h>

#define HASH_ADDED(elem) ((elem)->hh.tbl != NULL)

#endif
