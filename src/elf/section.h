/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of an ELF file that may lie about everything. */
#ifndef ELF_SECTION_H
#define ELF_SECTION_H

#include "elf/elffile.h"

/* Bytes. The largest browsers' symbols have 300 MiB; a file that anybody may have made must not
 * take that much. */
#define SECTION_SZ_MAX		 (512ULL << 20)
#define SECTION_SZ_UNTRUSTED_MAX (128ULL << 20)

/* The next section after `scn` (NULL: the first) and its header, or NULL. */
Elf_Scn *section__next(const struct elf_file *, Elf_Scn *scn, GElf_Shdr *);
/* The first of that type, or NULL; the header is undefined then. */
Elf_Scn *section__typed(const struct elf_file *, uint32_t type, GElf_Shdr *);
const char *section__name(const struct elf_file *, const GElf_Shdr *); /* "" when it has none */

/*
 * A copy of the section's bytes with a NUL after them, for the caller to free: libelf would keep
 * its own as long as the file is open. NULL + errno.
 */
uint8_t *section__read(const struct elf_file *, Elf_Scn *, size_t *sz);

#endif
