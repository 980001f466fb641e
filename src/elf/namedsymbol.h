/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ELF_NAMEDSYMBOL_H
#define ELF_NAMEDSYMBOL_H

#include "elf/elffile.h"

/*
 * Returns the link-time address of the defined symbol of that name, or 0. Looks through the dynamic
 * symbols, then the others, as long as their bytes are at most *left; subtracts them.
 */
uint64_t elf_symbol__find(const struct elf_file *, const char *name, size_t *left);

/*
 * Fills found[] with the addresses of `cnt` such symbols, 0 where there is none, in one pass. Looks
 * through the other symbols only if the dynamic ones lack the first or the last name. Returns
 * found[0].
 */
struct elf_symbol_names {
	const char *const *names;
	size_t cnt;
};
uint64_t elf_symbol__find_all(const struct elf_file *, const struct elf_symbol_names *,
			      uint64_t *found, size_t *left);

/* The code of a function, as offsets in its file. */
struct elf_symbol_code {
	uint64_t start, end;
};
/* Finds the largest function of that name among the dynamic symbols: there may be one for each
 * version. Returns false if there is none. */
bool elf_symbol__code(const struct elf_file *, const char *name, struct elf_symbol_code *,
		      size_t *left);

#endif
