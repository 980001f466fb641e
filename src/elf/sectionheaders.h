/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Section headers of an ELF file, for callers that must not wait for a disk, as libelf would. */
#ifndef ELF_SECTIONHEADERS_H
#define ELF_SECTIONHEADERS_H

#include "elf/code.h"

#define SECTION_HEADERS_MAX	 128
#define SECTION_HEADERS_NAMES_SZ 4096
/* Bytes before the section headers, where linkers put the names. */
#define SECTION_HEADERS_NEAR 1536

/* Points into itself: do not copy. */
struct section_headers {
	size_t cnt, names_sz;
	size_t near; /* valid bytes before the section headers */
	const Elf64_Shdr *sections;
	char *names; /* NUL at the end */
	char bytes[SECTION_HEADERS_NEAR + SECTION_HEADERS_MAX * sizeof(Elf64_Shdr)]
		__attribute__((aligned(8))); /* read from the file */
	char far[SECTION_HEADERS_NAMES_SZ];  /* names from another place in the file */
};

/* Returns 0, -EINVAL if the file has no section headers or more than linkers write, or the error of
 * `read`. */
int section_headers__read(struct section_headers *, const struct elf_file *, elf_file_read_fn read);

/* Returns the first section of that name that has uncompressed bytes, or NULL. */
const Elf64_Shdr *section_headers__find(const struct section_headers *, const char *name);

#endif
