// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/framesimage.h"

#include "base/buf.h"

uint64_t frames_image__address(const struct code *c)
{
	return (c->start + c->sz + 7) & ~7ull;
}

struct elf_file *frames_image__new(const struct code *c)
{
	static const char names[] = "\0.eh_frame\0.shstrtab\0.debug_frame";
	const Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = c->machine,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const size_t at = sizeof(ehdr) + 3 * sizeof(Elf64_Shdr);
	const Elf64_Shdr shdrs[3] = {
		{ 0 },
		{ .sh_name = c->frames_at ? 1 : 21,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = c->frames_at ? SHF_ALLOC : 0,
		  .sh_addr = c->frames_at,
		  .sh_offset = at + sizeof(names),
		  .sh_size = c->frames_sz,
		  .sh_addralign = 1 },
		{ .sh_name = 11,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = at,
		  .sh_size = sizeof(names),
		  .sh_addralign = 1 },
	};
	struct elf_file *f;
	struct buf b = { 0 };

	buf__append(&b, &ehdr, sizeof(ehdr));
	buf__append(&b, shdrs, sizeof(shdrs));
	buf__append(&b, names, sizeof(names));
	buf__append(&b, c->frames, c->frames_sz);
	if (buf__err(&b)) {
		buf__free(&b);
		return NULL;
	}
	f = elf_file__from_memory(b.data, b.sz, "[jit]");
	if (f)
		f->trusted = false; /* the process wrote it */
	return f;
}
