// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/sectionheaders.h"

#include <errno.h>
#include <string.h>

/* Reads the headers if the file has our class and byte order, together with the bytes before them
 * if these can be read, too. */
static int sectionheaders_read_table(struct section_headers *h, const struct elf_file *f,
				     elf_file_read_fn read)
{
	const struct elf_section_table *t = &f->section_table;
	size_t sz = t->cnt * sizeof(h->sections[0]);
	int err;

	if (!f->machine || t->entry_sz != sizeof(h->sections[0]) || t->cnt > SECTION_HEADERS_MAX ||
	    t->names >= t->cnt)
		return -EINVAL;
	h->cnt = t->cnt;
	h->sections = (const Elf64_Shdr *)(const void *)(h->bytes + SECTION_HEADERS_NEAR);
	h->near = t->off < SECTION_HEADERS_NEAR ? t->off : SECTION_HEADERS_NEAR;
	err = read(f, t->off - h->near, h->bytes + SECTION_HEADERS_NEAR - h->near, h->near + sz);
	if (!err || !h->near)
		return err;
	h->near = 0;
	return read(f, t->off, h->bytes + SECTION_HEADERS_NEAR, sz);
}

static int sectionheaders_read_names(struct section_headers *h, const struct elf_file *f,
				     elf_file_read_fn read)
{
	const Elf64_Shdr *names = &h->sections[f->section_table.names];
	uint64_t before = f->section_table.off - names->sh_offset;
	int err = 0;

	if (names->sh_size == 0 || names->sh_size > sizeof(h->far))
		return -EINVAL;
	h->names_sz = names->sh_size;
	if (names->sh_offset < f->section_table.off && before <= h->near &&
	    names->sh_size <= before)
		h->names = h->bytes + SECTION_HEADERS_NEAR - before;
	else
		err = read(f, names->sh_offset, h->names = h->far, h->names_sz);
	h->names[h->names_sz - 1] = '\0';
	return err;
}

int section_headers__read(struct section_headers *h, const struct elf_file *f,
			  elf_file_read_fn read)
{
	int err = sectionheaders_read_table(h, f, read);

	return err ? err : sectionheaders_read_names(h, f, read);
}

/* Most names already differ in the character after the dot. */
static bool sectionheaders_is_name(const char *own, const char *name)
{
	return own[0] == name[0] && own[1] == name[1] && strcmp(own, name) == 0;
}

const Elf64_Shdr *section_headers__find(const struct section_headers *h, const char *name)
{
	for (size_t i = 0; i < h->cnt; i++) {
		const Elf64_Shdr *s = &h->sections[i];

		if (s->sh_name < h->names_sz &&
		    sectionheaders_is_name(h->names + s->sh_name, name) &&
		    s->sh_type != SHT_NOBITS && !(s->sh_flags & SHF_COMPRESSED))
			return s;
	}
	return NULL;
}
