// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES_MAX (1U << 20) /* bytes of the section names, which libelf keeps in memory */

Elf_Scn *section__next(const struct elf_file *f, Elf_Scn *scn, GElf_Shdr *shdr)
{
	scn = elf_nextscn(elf_file__elf(f), scn);
	return scn && gelf_getshdr(scn, shdr) ? scn : NULL;
}

Elf_Scn *section__typed(const struct elf_file *f, uint32_t type, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = section__next(f, scn, shdr)) != NULL)
		if (shdr->sh_type == type)
			return scn;
	return NULL;
}

const char *section__name(const struct elf_file *f, const GElf_Shdr *shdr)
{
	GElf_Shdr names;
	const char *name;
	Elf_Scn *scn;
	size_t idx;

	if (elf_getshdrstrndx(elf_file__elf(f), &idx) != 0 ||
	    !(scn = elf_getscn(elf_file__elf(f), idx)) || !gelf_getshdr(scn, &names) ||
	    names.sh_size > NAMES_MAX)
		return "";
	name = elf_strptr(elf_file__elf(f), idx, shdr->sh_name);
	return name ? name : "";
}

static int read_all(int fd, uint8_t *data, size_t sz, uint64_t off)
{
	while (sz) {
		ssize_t n = pread(fd, data, sz, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		sz -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

static int copy(Elf_Scn *scn, uint8_t *data, size_t sz)
{
	const Elf_Data *raw = elf_rawdata(scn, NULL);

	if (!raw || !raw->d_buf || raw->d_size != sz)
		return -EIO;
	memcpy(data, raw->d_buf, sz);
	return 0;
}

/* Returns whether the file has these bytes, so that a forged size does not allocate memory. */
static bool holds(const struct elf_file *f, const GElf_Shdr *shdr)
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
static void populate(uint8_t *data, size_t sz)
{
	uintptr_t page_sz = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)data + page_sz - 1) & -page_sz;
	uintptr_t to = ((uintptr_t)data + sz) & -page_sz;

	if (sz >= POPULATE_SZ && from < to)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

uint8_t *section__read(const struct elf_file *f, Elf_Scn *scn, size_t *sz)
{
	GElf_Shdr shdr;
	uint8_t *data;
	int err;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0 ||
	    (shdr.sh_flags & SHF_COMPRESSED) || !holds(f, &shdr))
		return errno = EINVAL, NULL;
	if (shdr.sh_size > (f->trusted ? SECTION_SZ_MAX : SECTION_SZ_UNTRUSTED_MAX))
		return errno = EFBIG, NULL;
	*sz = shdr.sh_size;
	data = malloc(*sz + 1);
	if (!data)
		return NULL;
	populate(data, *sz);
	err = f->fd < 0 ? copy(scn, data, *sz) : read_all(f->fd, data, *sz, shdr.sh_offset);
	if (err) {
		free(data);
		return errno = -err, NULL;
	}
	data[*sz] = '\0';
	return data;
}
