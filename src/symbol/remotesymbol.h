/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYMBOL_REMOTESYMBOL_H
#define SYMBOL_REMOTESYMBOL_H

#include "symbol/symbol.h"
#include "worker/workers.h"

/* Like elf_file__symbol(), but workers read the file and demangle. A file that they cannot read has
 * no names. NULL for the workers: this process does it. */
bool workers__symbol(struct workers *, struct elf_file *, uint64_t vaddr, struct symbol *);

#endif
