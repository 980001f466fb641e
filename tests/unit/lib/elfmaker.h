/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small ELF programs with given contents, also forged ones. */
#ifndef UNIT_ELFMAKER_H
#define UNIT_ELFMAKER_H

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct made_elf {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[3]; /* read-only, code, notes */
	struct {
		Elf64_Nhdr hdr;
		char name[4];
		unsigned char id[20];
	} note;
	char strtab[16];
	char shstrtab[32];
	Elf64_Sym symtab[2];
	Elf64_Shdr shdrs[4]; /* none, .symtab, .strtab, .shstrtab */
	unsigned char code[4096];
};

#define MADE_CODE_VADDR 0x401000

/* A program with build ID `id` repeated 20 times and one symbol of that name. */
static inline struct made_elf elfmaker__make(unsigned char id, const char *symbol)
{
	struct made_elf e = { .shstrtab = "\0.symtab\0.strtab\0.shstrtab" };
	size_t code = offsetof(struct made_elf, code);

	e.ehdr = (Elf64_Ehdr){ .e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_version = EV_CURRENT,
			       .e_phoff = offsetof(struct made_elf, phdrs),
			       .e_shoff = offsetof(struct made_elf, shdrs),
			       .e_ehsize = sizeof(Elf64_Ehdr),
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = 3,
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = 4,
			       .e_shstrndx = 3 };
	memcpy(e.ehdr.e_ident, ELFMAG, SELFMAG);
	e.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	e.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	e.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	e.phdrs[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = code };
	e.phdrs[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_offset = code,
				   .p_vaddr = MADE_CODE_VADDR,
				   .p_filesz = sizeof(e.code) };
	e.phdrs[2] = (Elf64_Phdr){ .p_type = PT_NOTE,
				   .p_offset = offsetof(struct made_elf, note),
				   .p_filesz = sizeof(e.note),
				   .p_align = 4 };
	e.note.hdr = (Elf64_Nhdr){ 4, sizeof(e.note.id), NT_GNU_BUILD_ID };
	memcpy(e.note.name, "GNU", 4);
	memset(e.note.id, id, sizeof(e.note.id));
	strncpy(e.strtab + 1, symbol, sizeof(e.strtab) - 2);
	e.symtab[1] = (Elf64_Sym){ .st_name = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = 1,
				   .st_value = MADE_CODE_VADDR,
				   .st_size = sizeof(e.code) };
	e.shdrs[1] = (Elf64_Shdr){ .sh_name = 1,
				   .sh_type = SHT_SYMTAB,
				   .sh_offset = offsetof(struct made_elf, symtab),
				   .sh_size = sizeof(e.symtab),
				   .sh_link = 2,
				   .sh_entsize = sizeof(Elf64_Sym) };
	e.shdrs[2] = (Elf64_Shdr){ .sh_name = 9,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct made_elf, strtab),
				   .sh_size = sizeof(e.strtab) };
	e.shdrs[3] = (Elf64_Shdr){ .sh_name = 17,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct made_elf, shstrtab),
				   .sh_size = sizeof(e.shstrtab) };
	return e;
}

/* Writes bytes to the start of a file; returns a descriptor for reading it. */
static inline int elfmaker__write(const char *path, const void *data, size_t sz)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);

	if (fd < 0 || write(fd, data, sz) != (ssize_t)sz)
		return -1;
	fsync(fd);
	return fd;
}

#endif
