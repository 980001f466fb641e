/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the sections of an ELF file are, for who must not wait for a disk: libelf would. */
#ifndef ELF_SECTIONHEADERS_H
#define ELF_SECTIONHEADERS_H

#include "elf/code.h"

#define SECTION_HEADERS_MAX	 128
#define SECTION_HEADERS_NAMES_SZ 4096
#define SECTION_HEADERS_NEAR \
	1536 /* bytes before the sections' headers, where linkers put the names */

/* Points into itself. */
struct section_headers {
	size_t cnt, names_sz;
	size_t near; /* bytes before the sections' headers that are at hand */
	const Elf64_Shdr *sections;
	char *names; /* NUL at the end */
	char bytes[SECTION_HEADERS_NEAR + SECTION_HEADERS_MAX * sizeof(Elf64_Shdr)]
		__attribute__((aligned(8))); /* of the file */
	char far[SECTION_HEADERS_NAMES_SZ];  /* names that are elsewhere */
};

/* 0; -EINVAL: it has none, or more than linkers make; or what `read` says. */
int section_headers__read(struct section_headers *, const struct elf_file *, elf_file_read_fn read);

/* The first section of that name that has bytes, and not compressed ones; or NULL. */
const Elf64_Shdr *section_headers__find(const struct section_headers *, const char *name);

#endif
