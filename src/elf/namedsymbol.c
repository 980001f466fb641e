// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/namedsymbol.h"

#include <stdlib.h>

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

static uint64_t find_in(const struct elf_file *f, uint32_t type, const char *name, size_t *left)
{
	GElf_Shdr shdr;
	Elf_Scn *table = section__typed(f, type, &shdr);
	size_t sz = 0, names_sz = 0;
	uint8_t *syms, *names;
	uint64_t found = 0;
	Elf64_Sym sym;

	if (!table || shdr.sh_size > SYMBOLS_MAX)
		return 0;
	syms = read_part(f, table, &sz, left);
	names = read_part(f, elf_getscn(elf_file__elf(f), shdr.sh_link), &names_sz, left);
	for (size_t at = 0; !found && syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, syms + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name < names_sz &&
		    strcmp((const char *)names + sym.st_name, name) == 0) /* NUL at the end */
			found = sym.st_value;
	}
	free(names);
	free(syms);
	return found;
}

uint64_t elf_symbol__find(const struct elf_file *f, const char *name, size_t *left)
{
	uint64_t found = find_in(f, SHT_DYNSYM, name, left);

	return found ? found : find_in(f, SHT_SYMTAB, name, left);
}
