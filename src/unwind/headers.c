// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/headers.h"

#include <errno.h>
#include <string.h>

/* Those of a file whose class and byte order are ours. */
static int read_sections(struct headers *h, const struct elf_file *f, elf_file_read_fn read)
{
	const struct elf_section_table *t = &f->section_table;

	if (!f->machine || t->entry_sz != sizeof(h->sections[0]) || t->cnt > HEADERS_MAX ||
	    t->names >= t->cnt)
		return -EINVAL;
	h->cnt = t->cnt;
	return read(f, t->off, h->sections, h->cnt * sizeof(h->sections[0]));
}

int headers__read(struct headers *h, const struct elf_file *f, elf_file_read_fn read)
{
	int err = read_sections(h, f, read);
	const Elf64_Shdr *names;

	if (err)
		return err;
	names = &h->sections[f->section_table.names];
	if (names->sh_size == 0 || names->sh_size > sizeof(h->names))
		return -EINVAL;
	err = read(f, names->sh_offset, h->names, names->sh_size);
	memset(h->names + names->sh_size - 1, 0, sizeof(h->names) - names->sh_size + 1);
	return err;
}

/* Most differ behind the dot already. */
static bool is_name(const char *own, const char *name)
{
	return own[0] == name[0] && own[1] == name[1] && strcmp(own, name) == 0;
}

const Elf64_Shdr *headers__find(const struct headers *h, const char *name)
{
	for (size_t i = 0; i < h->cnt; i++) {
		const Elf64_Shdr *s = &h->sections[i];

		if (s->sh_name < sizeof(h->names) && is_name(h->names + s->sh_name, name) &&
		    s->sh_type != SHT_NOBITS && !(s->sh_flags & SHF_COMPRESSED))
			return s;
	}
	return NULL;
}
