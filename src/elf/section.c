// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/code.h"

#define NAMES_MAX (1U << 20) /* bytes of the section names */

/* The section headers of a file, and their names with a NUL after them. */
struct elf_sections {
	size_t cnt, names_sz;
	const char *names; /* in the same block */
	GElf_Shdr headers[];
};

/* ---- headers ------------------------------------------------------------------------------------
 */

static GElf_Shdr section_header_of_32(const Elf32_Shdr *h)
{
	return (GElf_Shdr){
		.sh_name = h->sh_name,
		.sh_type = h->sh_type,
		.sh_flags = h->sh_flags,
		.sh_addr = h->sh_addr,
		.sh_offset = h->sh_offset,
		.sh_size = h->sh_size,
		.sh_link = h->sh_link,
		.sh_info = h->sh_info,
		.sh_addralign = h->sh_addralign,
		.sh_entsize = h->sh_entsize,
	};
}

/* From the last one on: both kinds of headers use the same memory. */
static void section_widen_headers(GElf_Shdr *headers, size_t cnt)
{
	for (size_t i = cnt; i-- > 0;) {
		Elf32_Shdr h;

		memcpy(&h, (const char *)headers + i * sizeof(h), sizeof(h));
		headers[i] = section_header_of_32(&h);
	}
}

/* Returns false if the file does not hold all headers. */
static bool section_read_headers(const struct elf_file *f, GElf_Shdr *headers)
{
	const struct elf_section_table *t = &f->section_table;

	if (elf_file__read(f, t->off, headers, (size_t)t->cnt * t->entry_sz))
		return false;
	if (t->entry_sz == sizeof(Elf32_Shdr))
		section_widen_headers(headers, t->cnt);
	return true;
}

/* Returns the number of headers to read. */
static size_t section_header_cnt(const struct elf_file *f)
{
	const struct elf_section_table *t = &f->section_table;

	return t->off && (t->entry_sz == sizeof(Elf64_Shdr) || t->entry_sz == sizeof(Elf32_Shdr))
		       ? t->cnt
		       : 0;
}

/* Adds the names to the block. Without names, the sections have none. */
static struct elf_sections *section_add_names(struct elf_sections *s, const struct elf_file *f)
{
	size_t headers_sz = sizeof(*s) + s->cnt * sizeof(s->headers[0]);
	struct elf_sections *with = NULL;
	GElf_Shdr names = { 0 };

	if (f->section_table.names < s->cnt)
		names = s->headers[f->section_table.names];
	if (names.sh_type == SHT_STRTAB && names.sh_size && names.sh_size <= NAMES_MAX)
		with = realloc(s, headers_sz + names.sh_size + 1);
	if (!with)
		return s;
	with->names = (char *)with + headers_sz;
	if (elf_file__read(f, names.sh_offset, (char *)with + headers_sz, names.sh_size) == 0)
		with->names_sz = names.sh_size;
	((char *)with + headers_sz)[names.sh_size] = '\0';
	return with;
}

/* Returns NULL if memory is short. */
static const struct elf_sections *sections_of(const struct elf_file *f)
{
	struct elf_file *own = (struct elf_file *)f;
	size_t cnt = section_header_cnt(f);

	if (f->sections)
		return f->sections;
	own->sections = calloc(1, sizeof(*f->sections) + cnt * sizeof(f->sections->headers[0]));
	if (!f->sections || !cnt || !section_read_headers(f, f->sections->headers))
		return f->sections;
	own->sections->cnt = cnt;
	own->sections = section_add_names(f->sections, f);
	return f->sections;
}

bool section__at(const struct elf_file *f, size_t idx, GElf_Shdr *shdr)
{
	const struct elf_sections *s = sections_of(f);

	*shdr = s && idx < s->cnt ? s->headers[idx] : (GElf_Shdr){ 0 };
	return s && idx < s->cnt;
}

bool section__typed(const struct elf_file *f, uint32_t type, GElf_Shdr *shdr)
{
	for (size_t i = 1; section__at(f, i, shdr); i++)
		if (shdr->sh_type == type)
			return true;
	return false;
}

bool section__named(const struct elf_file *f, const char *name, GElf_Shdr *shdr)
{
	for (size_t i = 1; section__at(f, i, shdr); i++)
		if (strcmp(section__name(f, shdr), name) == 0)
			return true;
	return false;
}

const char *section__name(const struct elf_file *f, const GElf_Shdr *shdr)
{
	const struct elf_sections *s = sections_of(f);

	return s && shdr->sh_name < s->names_sz ? s->names + shdr->sh_name : "";
}

size_t section__idx(const struct elf_file *f, const GElf_Shdr *shdr)
{
	GElf_Shdr other;

	for (size_t i = 1; section__at(f, i, &other); i++)
		if (memcmp(&other, shdr, sizeof(other)) == 0)
			return i;
	return 0;
}

/* ---- bytes --------------------------------------------------------------------------------------
 */

/* Returns whether the file has these bytes, so that a forged size does not allocate memory. */
static bool section_holds(const struct elf_file *f, const GElf_Shdr *shdr)
{
	struct stat st;

	if (f->fd < 0)
		return true;
	return fstat(f->fd, &st) == 0 && shdr->sh_offset <= (uint64_t)st.st_size &&
	       shdr->sh_size <= (uint64_t)st.st_size - shdr->sh_offset;
}

#define POPULATE_SZ 65536

/* Populates the memory of a section if the kernel can (5.14): one fault per page costs more than
 * reading it. */
static void section_populate(uint8_t *data, size_t sz)
{
	uintptr_t page_sz = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)data + page_sz - 1) & -page_sz;
	uintptr_t to = ((uintptr_t)data + sz) & -page_sz;

	if (sz >= POPULATE_SZ && from < to)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

uint8_t *section__read(const struct elf_file *f, const GElf_Shdr *shdr, size_t *sz)
{
	uint8_t *data;
	int err;

	if (shdr->sh_type == SHT_NOBITS || shdr->sh_size == 0 ||
	    (shdr->sh_flags & SHF_COMPRESSED) || !section_holds(f, shdr))
		return errno = EINVAL, NULL;
	if (shdr->sh_size > (f->trusted ? SECTION_SZ_MAX : SECTION_SZ_UNTRUSTED_MAX))
		return errno = EFBIG, NULL;
	*sz = shdr->sh_size;
	data = malloc(*sz + 1);
	if (!data)
		return NULL;
	section_populate(data, *sz);
	err = elf_file__read(f, shdr->sh_offset, data, *sz);
	if (err) {
		free(data);
		return errno = -err, NULL;
	}
	data[*sz] = '\0';
	return data;
}

bool segment__at(const struct elf_file *f, size_t idx, GElf_Phdr *p)
{
	/* GElf_Phdr is Elf64_Phdr, and files of other classes have no machine */
	return f->machine && idx < f->program_table.cnt &&
	       elf_file__read(f, f->program_table.off + idx * sizeof(*p), p, sizeof(*p)) == 0;
}
