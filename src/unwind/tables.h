/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of all files, made in a thread of their own: whoever asks first does not wait, and
 * goes the long way until the table is there.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include "process/elffile.h"
#include "unwind/frametable.h"
#include "unwind/tablecache.h"

struct tables;

/* `cache`: where tables of trusted files are looked for first and kept; NULL: nowhere. Borrowed.
 * NULL + errno. */
struct tables *tables__new(struct table_cache *cache);
void tables__free(struct tables *);

/* What hangs on a file. `id` is never used again, and is not 0. */
struct table_slot {
	const struct frame_table *table; /* NULL: not yet, or never */
	uint64_t id;
};

/* Asks for the file's table at first sight. NULL when memory is short. */
const struct table_slot *tables__ask(struct tables *, struct elf_file *);

static inline const struct table_slot *tables__of(struct tables *t, struct elf_file *file)
{
	const struct elf_attachment *a = &file->slots[ELF_SLOT_TABLE];

	return __builtin_expect(a->data != NULL, 1) ? a->data : tables__ask(t, file);
}

/* Takes over what has been made; called between walks. */
void tables__collect(struct tables *);
/* Until all that was asked for is there. */
void tables__wait(struct tables *);

struct tables_stats {
	size_t made, cached, failed, pending; /* files; failed: without call-frame information, or
						 with odd one */
	size_t bytes;			      /* of tables that there are now */
};
void tables__stats(const struct tables *, struct tables_stats *);

#endif
