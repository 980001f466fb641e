// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/namedsymbol.h"

#include <stdlib.h>
#include <string.h>

#include "elf/section.h"

#define SYMBOLS_MAX (8u << 20) /* bytes of a file's symbols */

/* Returns NULL if there is none, or too much has been looked through. To be freed. */
static uint8_t *namedsymbol_read_part(const struct elf_file *f, const GElf_Shdr *shdr, size_t *sz,
				      size_t *left)
{
	if (shdr->sh_size > *left)
		return NULL;
	*left -= shdr->sh_size;
	return section__read(f, shdr, sz);
}

struct symbol_taker {
	void (*take)(void *arg, const char *name, const Elf64_Sym *);
	void *arg;
};

struct address_search {
	const struct elf_symbol_names *wanted;
	uint64_t *found;
};

static void namedsymbol_take_address(void *arg, const char *name, const Elf64_Sym *sym)
{
	const struct address_search *s = arg;

	for (size_t i = 0; i < s->wanted->cnt; i++)
		if (!s->found[i] && s->wanted->names[i][0] == *name &&
		    strcmp(s->wanted->names[i], name) == 0)
			s->found[i] = sym->st_value;
}

/* Calls `take` for each defined symbol of a table. */
static void namedsymbol_each(const struct elf_file *f, uint32_t type, size_t *left,
			     const struct symbol_taker *taker)
{
	GElf_Shdr shdr, strings;
	size_t sz = 0, names_sz = 0;
	uint8_t *syms, *names;
	Elf64_Sym sym;

	if (!section__typed(f, type, &shdr) || shdr.sh_size > SYMBOLS_MAX)
		return;
	section__at(f, shdr.sh_link, &strings);
	syms = namedsymbol_read_part(f, &shdr, &sz, left);
	names = namedsymbol_read_part(f, &strings, &names_sz, left);
	for (size_t at = 0; syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, syms + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name < names_sz) /* NUL at the end */
			taker->take(taker->arg, (const char *)names + sym.st_name, &sym);
	}
	free(names);
	free(syms);
}

uint64_t elf_symbol__find_all(const struct elf_file *f, const struct elf_symbol_names *wanted,
			      uint64_t *found, size_t *left)
{
	struct address_search s = { wanted, found };
	const struct symbol_taker taker = { namedsymbol_take_address, &s };

	memset(found, 0, wanted->cnt * sizeof(*found));
	namedsymbol_each(f, SHT_DYNSYM, left, &taker);
	if (!found[0] || !found[wanted->cnt - 1])
		namedsymbol_each(f, SHT_SYMTAB, left, &taker);
	return found[0];
}

uint64_t elf_symbol__find(const struct elf_file *f, const char *name, size_t *left)
{
	uint64_t found;

	return elf_symbol__find_all(f, &(struct elf_symbol_names){ &name, 1 }, &found, left);
}

struct code_search {
	const char *name;
	uint64_t vaddr, sz;
};

static void namedsymbol_take_largest(void *arg, const char *name, const Elf64_Sym *sym)
{
	struct code_search *s = arg;

	if (sym->st_size <= s->sz || strcmp(s->name, name) != 0)
		return;
	s->vaddr = sym->st_value;
	s->sz = sym->st_size;
}

/* Returns false if no segment of the file has it. */
static bool namedsymbol_find_offset(const struct elf_file *f, const struct code_search *s,
				    struct elf_symbol_code *code)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *p = &f->segments[i];

		if (s->vaddr < p->vaddr || s->vaddr - p->vaddr >= p->sz || s->sz > p->sz)
			continue;
		code->start = s->vaddr - p->vaddr + p->off;
		code->end = code->start + s->sz;
		return true;
	}
	return false;
}

bool elf_symbol__code(const struct elf_file *f, const char *name, struct elf_symbol_code *code,
		      size_t *left)
{
	struct code_search s = { .name = name };

	namedsymbol_each(f, SHT_DYNSYM, left,
			 &(struct symbol_taker){ namedsymbol_take_largest, &s });
	return s.sz && namedsymbol_find_offset(f, &s, code);
}
