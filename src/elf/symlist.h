/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions in the symbol tables of one file, before duplicates are resolved. */
#ifndef ELF_SYMLIST_H
#define ELF_SYMLIST_H

#include "elf/section.h"

#define SYMBOL_NAME_MAX 4096 /* bytes with the NUL; longer names are cut and end in "…" */

struct raw_symbol {
	uint64_t addr, sz; /* sz 0: unknown */
	const char *name;  /* in one of the list's blocks */
	uint32_t name_sz;  /* bytes without a symbol version */
	/* of several symbols for one place, the one with the lowest rank is shown */
	uint32_t rank;
	bool label; /* without a type: a function only if no other symbol is there */
	bool plt;   /* a stub: "@plt" is appended to the name */
};

struct code_range {
	uint64_t start, end;
};

#define SYMLIST_BLOCKS 16

struct symlist {
	struct raw_symbol *syms;
	size_t cnt, cap;
	struct code_range *code; /* executable sections (else segments), ascending */
	size_t code_cnt;
	void *blocks[SYMLIST_BLOCKS]; /* string tables */
	size_t block_cnt;
	size_t strings_sz; /* bytes of all string tables */
};

int symlist__init(struct symlist *, const struct elf_file *);
void symlist__free(struct symlist *);
/* Returns the executable range with `addr`, or NULL. */
const struct code_range *symlist__code(const struct symlist *, uint64_t addr);
/* Takes ownership of `block`, also on failure. */
int symlist__keep(struct symlist *, void *block, size_t sz);
int symlist__add(struct symlist *, const struct raw_symbol *);

/* A symbol table and its strings. The list owns both, except `data`. */
struct symbol_section {
	uint8_t *data;
	size_t cnt, entry_sz;
	const char *strings;
	size_t strings_sz;
	bool is64;
};

/* Returns 0, -ENOENT if the file has no table of that type (SHT_SYMTAB, SHT_DYNSYM), or another
 * -errno. */
int symbol_section__read(struct symbol_section *, struct symlist *, const struct elf_file *,
			 uint32_t type);
void symbol_section__free(struct symbol_section *);
GElf_Sym symbol_section__at(const struct symbol_section *, size_t idx); /* zeros past the end */
/* Returns "" if the name is out of bounds. */
const char *symbol_section__name(const struct symbol_section *, const GElf_Sym *);

/* Adds the functions of a table. Returns 0, -ENOENT if there is none, or another -errno. */
int symlist__add_table(struct symlist *, const struct elf_file *, uint32_t type);
/* Adds the stubs of .plt and similar sections, named after their relocations. Returns 0 or -errno.
 */
int symlist__add_plt(struct symlist *, const struct elf_file *);
/* Adds the functions of Go's own table. Returns 0, -ENOENT if there is none, or another -errno. */
int symlist__add_go(struct symlist *, const struct elf_file *);

#endif
