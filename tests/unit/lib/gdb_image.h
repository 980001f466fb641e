/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF image like those that QEMU lists for gdb for its generated code. */
#ifndef UNIT_GDB_IMAGE_H
#define UNIT_GDB_IMAGE_H

#include <elf.h>
#include <string.h>

#include "base/buf.h"

struct gdb_listed {
	struct gdb_listed *next, *prev;
	const void *image;
	uint64_t sz;
};

struct gdb_descriptor {
	uint32_t version, action;
	struct gdb_listed *relevant, *first;
};

/* A .debug_frame for code that uses `bytes` of stack after its first 4 bytes, and only the 8 of its
 * return address from the last byte on. */
static inline void gdb_image__frames(struct buf *b, uint64_t code, uint64_t sz, uint8_t bytes)
{
	static const uint8_t cie[] = { 16, 0,	 0,  0,	   0xff, 0xff, 0xff, 0xff, 1, 0,
				       1,  0x78, 16, 0x0c, 7,	 8,    0x90, 1,	   0, 0 };
	const uint8_t rows[] = { 0x44, 0x0e, bytes, (uint8_t)(0x40 | (sz - 5)), 0x0e, 8, 0, 0 };

	buf__append(b, cie, sizeof(cie));
	buf__u32(b, 4 + 8 + 8 + sizeof(rows));
	buf__u32(b, 0); /* the CIE */
	buf__u64(b, code);
	buf__u64(b, sz);
	buf__append(b, rows, sizeof(rows));
}

static inline void gdb_image__section(struct buf *b, const Elf64_Shdr *s)
{
	buf__append(b, s, sizeof(*s));
}

/* An image of code that is elsewhere, with its frames. */
static inline void gdb_image__make(struct buf *b, uint64_t code, uint64_t sz, uint8_t bytes)
{
	static const char names[] = "\0.text\0.debug_frame\0.shstrtab";
	struct buf frames = { 0 };
	Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(e),
			 .e_ehsize = sizeof(e),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3 };
	uint64_t at = sizeof(e) + 4 * sizeof(Elf64_Shdr);

	gdb_image__frames(&frames, code, sz, bytes);
	buf__append(b, &e, sizeof(e));
	gdb_image__section(b, &(Elf64_Shdr){ 0 });
	gdb_image__section(b, &(Elf64_Shdr){ .sh_name = 1,
					     .sh_type = SHT_NOBITS,
					     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					     .sh_addr = code,
					     .sh_size = sz });
	gdb_image__section(b, &(Elf64_Shdr){ .sh_name = 7,
					     .sh_type = SHT_PROGBITS,
					     .sh_offset = at,
					     .sh_size = frames.sz });
	gdb_image__section(b, &(Elf64_Shdr){ .sh_name = 20,
					     .sh_type = SHT_STRTAB,
					     .sh_offset = at + frames.sz,
					     .sh_size = sizeof(names) });
	buf__append(b, frames.data, frames.sz);
	buf__append(b, names, sizeof(names));
	buf__free(&frames);
}

/* Its frames are in the process's memory: it has an .eh_frame there. */
static inline void gdb_image__load(struct buf *b, const void *frames, uint64_t sz)
{
	static const char name[] = ".eh_frame";
	Elf64_Shdr *s = (Elf64_Shdr *)(b->data + sizeof(Elf64_Ehdr));

	s[2].sh_flags = SHF_ALLOC;
	s[2].sh_addr = (uint64_t)frames;
	s[2].sh_size = sz;
	memcpy(b->data + s[3].sh_offset + s[2].sh_name, name, sizeof(name));
}

#endif
