/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of an ELF file with headers that may be forged. */
#ifndef ELF_SECTION_H
#define ELF_SECTION_H

#include "elf/elffile.h"

/* Bytes. The symbols of the largest browsers have 300 MiB; an untrusted file must not take that
 * much. */
#define SECTION_SZ_MAX		 (512ULL << 20)
#define SECTION_SZ_UNTRUSTED_MAX (128ULL << 20)

/* Returns the next section after `scn` (NULL: the first) with its header, or NULL. */
Elf_Scn *section__next(const struct elf_file *, Elf_Scn *scn, GElf_Shdr *);
/* Returns the first section of that type; or NULL, with an undefined header. */
Elf_Scn *section__typed(const struct elf_file *, uint32_t type, GElf_Shdr *);
const char *section__name(const struct elf_file *, const GElf_Shdr *); /* "" if it has none */

/*
 * Returns a copy of the section's bytes with a NUL after them, for the caller to free. libelf would
 * keep its own copy as long as the file is open. Returns NULL and sets errno.
 */
uint8_t *section__read(const struct elf_file *, Elf_Scn *, size_t *sz);

#endif
