/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's own table of functions (runtime/symtab.go, cmd/link/internal/ld/pcln.go), which stays in
 * programs that are linked without symbols. Go 1.16 and newer, 64-bit.
 */
#ifndef ELF_GOPCLNTAB_H
#define ELF_GOPCLNTAB_H

#include "elf/section.h"

struct gopclntab {
	uint8_t *block;	       /* the section's bytes and a NUL; owned */
	const uint8_t *header; /* the table in it */
	size_t sz;	       /* bytes from the header to the end */
	/* link-time address that the entries are relative to; 0: they are absolute */
	uint64_t text;
	uint64_t cnt;		   /* number of functions */
	uint64_t names, functions; /* offsets in the table */
	size_t entry_sz;	   /* bytes of an entry of `functions` */
};

/* A function of the table. The name ends inside the table, and may be empty. */
struct go_function {
	uint64_t addr, sz; /* link-time address; bytes up to the next function */
	const char *name;
};

/* Returns the section with the table according to the section headers, or NULL. */
Elf_Scn *gopclntab__section(const struct elf_file *, GElf_Shdr *);
/* Reads the table. Returns 0 or -errno, -ENOENT if the file has none. */
int gopclntab__read(struct gopclntab *, const struct elf_file *);
void gopclntab__free(struct gopclntab *);
/* Fills in the function at an index below `cnt`. Returns false if its entry is invalid. */
bool gopclntab__at(const struct gopclntab *, uint64_t idx, struct go_function *);

#endif
