/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of an ELF file with headers that may be forged. Does not use libelf. */
#ifndef ELF_SECTION_H
#define ELF_SECTION_H

#include "elf/elffile.h"

/* Bytes. The symbols of the largest browsers have 300 MiB; an untrusted file must not take that
 * much. */
#define SECTION_SZ_MAX		 (512ULL << 20)
#define SECTION_SZ_UNTRUSTED_MAX (128ULL << 20)

/*
 * Each returns whether the file has the section, and sets its header; otherwise sets zeros. The
 * offset and the size are what the file declares. The first call reads all headers and their names,
 * so one thread at a time may use a file.
 */
bool section__at(const struct elf_file *, size_t idx, GElf_Shdr *);
bool section__typed(const struct elf_file *, uint32_t type, GElf_Shdr *);    /* the first one */
bool section__named(const struct elf_file *, const char *name, GElf_Shdr *); /* the first one */

const char *section__name(const struct elf_file *, const GElf_Shdr *); /* "" if it has none */
/* Returns its index; 0 if the file has no such section. */
size_t section__idx(const struct elf_file *, const GElf_Shdr *);

/* Returns a copy of the section's bytes with a NUL after them, for the caller to free. Returns NULL
 * and sets errno, EINVAL if it is compressed. */
uint8_t *section__read(const struct elf_file *, const GElf_Shdr *, size_t *sz);

/* Reads a program header, of a file for a known machine. Returns false past the last one. */
bool segment__at(const struct elf_file *, size_t idx, GElf_Phdr *);

#endif
