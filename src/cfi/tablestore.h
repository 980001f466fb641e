/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of all files. Whoever asks first does not wait: files are read, and tables made, by
 * jobs, which say here what there is. Of a file that the kernel has in memory rules are compiled
 * one by one at first (cfi/lazytable.h); when that has cost as much as the table, or does not
 * go, the table is made.
 */
#ifndef CFI_TABLESTORE_H
#define CFI_TABLESTORE_H

#include "base/jobs.h"
#include "elf/elffile.h"
#include "cfi/table.h"
#include "cfi/tablecache.h"

struct table_store;

/* `cache`: where tables of trusted files are looked for first and kept; NULL: nowhere. Both are
 * borrowed. NULL + errno. */
struct table_store *table_store__new(struct table_cache *cache, struct jobs *);
/* When no job of theirs is left: after jobs__free(). */
void table_store__free(struct table_store *);

/* What hangs on a file. `id` is never used again, and is not 0. */
struct table_slot {
	const struct cfi_table *table; /* NULL: not yet, or never */
	uint64_t id;
};

/* At first sight of a file. NULL when memory is short. */
const struct table_slot *table_store__ask(struct table_store *, struct elf_file *);

static inline const struct table_slot *table_store__of(struct table_store *t, struct elf_file *file)
{
	const struct elf_attachment *a = &file->slots[ELF_SLOT_TABLE];

	return __builtin_expect(a->data != NULL, 1) ? a->data : table_store__ask(t, file);
}

/* The rule at an offset of a file that has been asked for. False: there is none, or not yet. */
bool table_store__rule(struct table_store *, struct elf_file *, uint64_t off, struct packed_rule *);

struct table_store_stats {
	size_t made, cached, failed, pending; /* files; failed: without call-frame information, or
						 with odd one */
	size_t indexed;			      /* files whose rules come one by one */
	size_t bytes;			      /* of tables and indexes that there are now */
};
void table_store__stats(const struct table_store *, struct table_store_stats *);

#endif
