/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads symbol tables in a worker (worker/workers.h). */
#ifndef SYMBOL_SYMTABTASK_H
#define SYMBOL_SYMTABTASK_H

#include "symbol/symtab.h"
#include "worker/workers.h"

/* Like symtab__new(), but a worker reads the file. Uses its fd, path, build_id, trusted, owner and
 * dev. Sets `*err` to 0 or -errno; workers__failed() may be true. */
struct symtab *symtab_task__request(struct workers *, const struct elf_file *, int *err);

/* Returns the table in a block of `sz` bytes, of which it takes ownership if it is sound; else
 * NULL. */
struct symtab *symtab__of_block(void *block, size_t sz);
/* Returns a table without symbols, or NULL and sets errno. */
struct symtab *symtab__empty(void);
/* Returns whether a block is sound. */
bool symtab_block__is_sound(const void *block, size_t sz);

/* The function for TASK_SYMBOLS, in a worker. */
int symtab_task__run(struct task *);

#endif
