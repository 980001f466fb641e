/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables on disk, one file per build ID, so that the next start finds them: they are mapped, not
 * read. What is damaged, of another version or somebody else's is not believed, and made again.
 */
#ifndef CFI_TABLECACHE_H
#define CFI_TABLECACHE_H

#include "cfi/table.h"

#define TABLE_CACHE_DIR "/var/cache/stacks/tables"
#define TABLE_CACHE_MAX (512u << 20) /* bytes: a whole distribution takes 70 MB */

struct table_cache;

/*
 * Makes the folder with its parents where it is missing (0700). NULL + errno; EPERM when others
 * could write into it. When one is kept and the files have more than max_sz bytes, those that were
 * not used for longest go.
 */
struct table_cache *table_cache__new(const char *dir, size_t max_sz);
/* One more reference; NULL gives NULL. Any thread. */
struct table_cache *table_cache__get(struct table_cache *);
void table_cache__put(struct table_cache *); /* accepts NULL */

/* Mapped read-only; for table_cache__unmap(). NULL: there is none. Any thread. */
const struct cfi_table *table_cache__load(const struct table_cache *, const struct build_id *);
void table_cache__unmap(const struct cfi_table *);

/* Keeps a copy. 0 or -errno: nobody has to care. Any thread. */
int table_cache__store(struct table_cache *, const struct cfi_table *);

#endif
