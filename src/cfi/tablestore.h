/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of all files. A request never waits: jobs read files, build tables, and publish them
 * here. For a file in the page cache, rules are first compiled one by one (cfi/lazytable.h). When
 * that has cost as much as the table, or is not possible, a job builds the table.
 */
#ifndef CFI_TABLESTORE_H
#define CFI_TABLESTORE_H

#include "base/jobs.h"
#include "elf/elffile.h"
#include "cfi/table.h"
#include "cfi/tablecache.h"

struct table_store;

/* `cache`: tables of trusted files are looked up and stored there; NULL: nowhere. Both arguments
 * are borrowed. Returns NULL and sets errno. */
struct table_store *table_store__new(struct table_cache *cache, struct jobs *);
/* Call it after jobs__free(), when none of its jobs is left. */
void table_store__free(struct table_store *);

/* What is attached to a file. `id` is unique, and never 0. */
struct table_slot {
	const struct cfi_table *table; /* NULL: not yet, or never */
	uint64_t id;
};

/* Called for the first look-up in a file. Returns NULL if memory is short. */
const struct table_slot *table_store__attach(struct table_store *, struct elf_file *);

static inline const struct table_slot *table_store__of(struct table_store *t, struct elf_file *file)
{
	const struct elf_attachment *a = &file->slots[ELF_SLOT_TABLE];

	return __builtin_expect(a->data != NULL, 1) ? a->data : table_store__attach(t, file);
}

/* Looks up the rule at an offset of a file after table_store__attach(). Returns false if there is
 * none, or none yet. */
bool table_store__rule(struct table_store *, struct elf_file *, uint64_t off, struct packed_rule *);

struct table_store_stats {
	/* Numbers of files; failed: without call-frame information, or with an invalid one. */
	size_t made, cached, failed, pending;
	size_t indexed; /* files with rules that are compiled one by one */
	size_t bytes;	/* of the existing tables and lazy tables */
};
void table_store__stats(const struct table_store *, struct table_store_stats *);

#endif
