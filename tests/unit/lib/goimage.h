/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file in memory with the sections of a Go program without symbols. */
#ifndef FUZZ_GOIMAGE_H
#define FUZZ_GOIMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOIMAGE_TEXT	0x401000 /* link-time addresses */
#define GOIMAGE_TEXT_SZ 0x1000
#define GOIMAGE_TABLE	0x500000

struct goimage {
	Elf64_Ehdr ehdr;
	Elf64_Phdr code;
	Elf64_Shdr shdrs[6]; /* none, .text, the table, .go.module, .go.buildinfo, .shstrtab */
	char names[72];
	uint64_t module[41]; /* runtime's moduledata */
	uint8_t table[];
};

static inline void goimage__section(struct goimage *g, size_t idx, const char *name,
				    Elf64_Shdr shdr)
{
	size_t at = 1;

	while (g->names[at])
		at += strlen(g->names + at) + 1;
	strcpy(g->names + at, name);
	shdr.sh_name = (uint32_t)at;
	shdr.sh_type = SHT_PROGBITS;
	g->shdrs[idx] = shdr;
}

/* Returns a malloc()ed file with the bytes of a table in the section `name`. */
static inline struct goimage *goimage__make(const char *name, const void *table, size_t sz)
{
	struct goimage *g = calloc(1, sizeof(*g) + sz);

	if (!g)
		abort();
	g->ehdr = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					     ELFDATA2LSB, EV_CURRENT },
				.e_type = ET_EXEC,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = offsetof(struct goimage, code),
				.e_shoff = offsetof(struct goimage, shdrs),
				.e_ehsize = sizeof(g->ehdr),
				.e_phentsize = sizeof(g->code),
				.e_phnum = 1,
				.e_shentsize = sizeof(g->shdrs[0]),
				.e_shnum = 6,
				.e_shstrndx = 5 };
	g->code = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_vaddr = GOIMAGE_TEXT,
				.p_filesz = GOIMAGE_TEXT_SZ,
				.p_memsz = GOIMAGE_TEXT_SZ };
	goimage__section(g, 1, ".text",
			 (Elf64_Shdr){ .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				       .sh_addr = GOIMAGE_TEXT,
				       .sh_size = GOIMAGE_TEXT_SZ });
	goimage__section(g, 2, name,
			 (Elf64_Shdr){ .sh_addr = GOIMAGE_TABLE,
				       .sh_offset = offsetof(struct goimage, table),
				       .sh_size = sz });
	goimage__section(g, 3, ".go.module",
			 (Elf64_Shdr){ .sh_offset = offsetof(struct goimage, module),
				       .sh_size = sizeof(g->module) });
	goimage__section(g, 4, ".go.buildinfo", (Elf64_Shdr){ .sh_size = 0 });
	goimage__section(g, 5, ".shstrtab",
			 (Elf64_Shdr){ .sh_offset = offsetof(struct goimage, names),
				       .sh_size = sizeof(g->names) });
	g->shdrs[5].sh_type = SHT_STRTAB;
	g->module[0] = GOIMAGE_TABLE;
	g->module[1] = GOIMAGE_TABLE + 1; /* the names; only roughly checked */
	g->module[22] = GOIMAGE_TEXT;
	g->module[40] = GOIMAGE_TABLE; /* trees of inlined functions, since Go 1.20 */
	memcpy(g->table, table, sz);
	return g;
}

#endif
