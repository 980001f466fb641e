/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables on disk, one file per build ID, for the next start. They are mapped, not read. A table
 * that is damaged, of another version or owned by another user is ignored and built again.
 */
#ifndef CFI_TABLECACHE_H
#define CFI_TABLECACHE_H

#include "cfi/table.h"

#define TABLE_CACHE_DIR "/var/cache/stacks/tables"
#define TABLE_CACHE_MAX (512u << 20) /* bytes: the tables of a whole distribution take 70 MB */

struct table_cache;

/*
 * Creates the folder and its parents (0700) if they are missing. Returns NULL and sets errno;
 * EPERM: other users could write into it. After a table is stored, if the files have more than
 * `max_sz` bytes, the least recently used ones are removed.
 */
struct table_cache *table_cache__new(const char *dir, size_t max_sz);
/* Takes another reference; NULL gives NULL. Any thread may call it. */
struct table_cache *table_cache__get(struct table_cache *);
void table_cache__put(struct table_cache *); /* accepts NULL */

/* Returns a table mapped read-only, to be released by table_cache__unmap(), or NULL. Any thread may
 * call it. */
const struct cfi_table *table_cache__load(const struct table_cache *, const struct build_id *);
void table_cache__unmap(const struct cfi_table *);

/* Stores a copy. Returns 0 or -errno, which callers may ignore. Any thread may call it. */
int table_cache__store(struct table_cache *, const struct cfi_table *);

#endif
