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
	uint64_t cnt;		       /* number of functions */
	uint64_t names, functions;     /* offsets in the table */
	uint64_t units, files, values; /* … of the parts with lines; unchecked */
	size_t entry_sz;	       /* bytes of an entry of `functions` */
	uint32_t step;		       /* bytes of the smallest instruction */
	bool has_start_line;	       /* Go 1.20 and newer */
	uint64_t trees; /* link-time address that the trees are relative to; 0: unknown */
};

/* A function of the table. The name ends inside the table, and may be empty. */
struct go_function {
	uint64_t addr, sz; /* link-time address; bytes up to the next function */
	const char *name;
};

/* Where the lines of a function are. */
struct go_places {
	uint32_t file, line; /* offsets in the part `values` */
	uint32_t inlined;    /* … of the indexes in its tree; 0: it has none inlined */
	uint32_t unit;	     /* index in the part `units` of its first file */
	uint32_t tree;	     /* offset from `trees`; GO_NO_TREE: none */
};
#define GO_NO_TREE UINT32_MAX

/* Returns the section with the table according to the section headers, or NULL. */
bool gopclntab__section(const struct elf_file *, GElf_Shdr *);
/* Reads the table. Returns 0 or -errno, -ENOENT if the file has none. */
int gopclntab__read(struct gopclntab *, const struct elf_file *);
void gopclntab__free(struct gopclntab *);
/* Fills in the function at an index below `cnt`. Returns false if its entry is invalid. */
bool gopclntab__at(const struct gopclntab *, uint64_t idx, struct go_function *);
/* Fills in where its lines are. Returns false if its entry is invalid. */
bool gopclntab__places(const struct gopclntab *, uint64_t idx, struct go_places *);

#endif
