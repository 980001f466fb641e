// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/headers.h"

#include <errno.h>
#include <string.h>

/* The file has been opened before: its class and byte order are known. */
static int read_sections(struct headers *h, const struct elf_file *f, elf_file_read_fn read,
			 const Elf64_Ehdr *e)
{
	if (e->e_shentsize != sizeof(h->sections[0]) || e->e_shnum > HEADERS_MAX ||
	    e->e_shstrndx >= e->e_shnum)
		return -EINVAL;
	h->cnt = e->e_shnum;
	return read(f, e->e_shoff, h->sections, h->cnt * sizeof(h->sections[0]));
}

int headers__read(struct headers *h, const struct elf_file *f, elf_file_read_fn read)
{
	const Elf64_Shdr *names;
	Elf64_Ehdr ehdr;
	int err = f->machine ? read(f, 0, &ehdr, sizeof(ehdr)) : -EINVAL;

	if (!err)
		err = read_sections(h, f, read, &ehdr);
	if (err)
		return err;
	names = &h->sections[ehdr.e_shstrndx];
	if (names->sh_size == 0 || names->sh_size > sizeof(h->names))
		return -EINVAL;
	err = read(f, names->sh_offset, h->names, names->sh_size);
	memset(h->names + names->sh_size - 1, 0, sizeof(h->names) - names->sh_size + 1);
	return err;
}

const Elf64_Shdr *headers__find(const struct headers *h, const char *name)
{
	for (size_t i = 0; i < h->cnt; i++) {
		const Elf64_Shdr *s = &h->sections[i];

		if (s->sh_name < sizeof(h->names) && s->sh_type != SHT_NOBITS &&
		    !(s->sh_flags & SHF_COMPRESSED) && strcmp(h->names + s->sh_name, name) == 0)
			return s;
	}
	return NULL;
}
