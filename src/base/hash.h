/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uthash, told not to end the program when there is no memory: check HASH_ADDED() after each
 * HASH_ADD. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define HASH_NONFATAL_OOM	  1
#define uthash_nonfatal_oom(elem) ((void)(elem))
#include <uthash.h>

#define HASH_ADDED(elem) ((elem)->hh.tbl != NULL)

#endif
