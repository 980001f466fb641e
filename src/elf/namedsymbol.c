// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/namedsymbol.h"

#include <stdlib.h>
#include <string.h>

#include "elf/section.h"

#define SYMBOLS_MAX (8u << 20) /* bytes of a file's symbols */

/* Returns NULL if there is none, or too much has been looked through. To be freed. */
static uint8_t *read_part(const struct elf_file *f, Elf_Scn *scn, size_t *sz, size_t *left)
{
	GElf_Shdr shdr;

	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_size > *left)
		return NULL;
	*left -= shdr.sh_size;
	return section__read(f, scn, sz);
}

static void take_symbol(const struct elf_symbol_names *wanted, const char *name, uint64_t value,
			uint64_t *found)
{
	for (size_t i = 0; i < wanted->cnt; i++)
		if (!found[i] && wanted->names[i][0] == *name &&
		    strcmp(wanted->names[i], name) == 0)
			found[i] = value;
}

static void find_in(const struct elf_file *f, uint32_t type, const struct elf_symbol_names *wanted,
		    uint64_t *found, size_t *left)
{
	GElf_Shdr shdr;
	Elf_Scn *table = section__typed(f, type, &shdr);
	size_t sz = 0, names_sz = 0;
	uint8_t *syms, *names;
	Elf64_Sym sym;

	if (!table || shdr.sh_size > SYMBOLS_MAX)
		return;
	syms = read_part(f, table, &sz, left);
	names = read_part(f, elf_getscn(elf_file__elf(f), shdr.sh_link), &names_sz, left);
	for (size_t at = 0; syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, syms + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name < names_sz) /* NUL at the end */
			take_symbol(wanted, (const char *)names + sym.st_name, sym.st_value, found);
	}
	free(names);
	free(syms);
}

uint64_t elf_symbol__find_all(const struct elf_file *f, const struct elf_symbol_names *wanted,
			      uint64_t *found, size_t *left)
{
	memset(found, 0, wanted->cnt * sizeof(*found));
	find_in(f, SHT_DYNSYM, wanted, found, left);
	if (!found[0] || !found[wanted->cnt - 1])
		find_in(f, SHT_SYMTAB, wanted, found, left);
	return found[0];
}

uint64_t elf_symbol__find(const struct elf_file *f, const char *name, size_t *left)
{
	uint64_t found;

	return elf_symbol__find_all(f, &(struct elf_symbol_names){ &name, 1 }, &found, left);
}
