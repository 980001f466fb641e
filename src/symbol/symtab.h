/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol table of one file. Private to src/symbol. */
#ifndef SYMBOL_SYMTAB_H
#define SYMBOL_SYMTAB_H

#include "symbol/symbol.h"

struct symtab;

/*
 * Reads all symbols of the file. May block on its file system. Uses only what does not change in
 * *f: another thread may be counting references. Returns NULL with errno set on failure.
 */
struct symtab *symtab__new(const struct elf_file *f);
void symtab__free(void *symtab); /* accepts NULL */

/* Gives the file its table, which it takes. */
void elf_file__set_symtab(struct elf_file *, struct symtab *);

#endif
