// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elffile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/handle.h"
#include "base/mount.h"

/* Linked programs have a few dozen of each; libelf allocates memory for every one that a header
 * declares. */
#define SECTIONS_MAX 2048
#define SEGMENTS_MAX 512
#define NOTES_MAX    65536 /* bytes of one note segment */

/* Checks the header before libelf sees it, because libelf allocates memory by these counts. */
static bool elffile_header_ok(const unsigned char *hdr, size_t sz)
{
	size_t shoff, shnum, phnum, type;
	Elf64_Ehdr e64;
	Elf32_Ehdr e32;

	if (sz < sizeof(e64) || memcmp(hdr, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&e64, hdr, sizeof(e64));
	memcpy(&e32, hdr, sizeof(e32));
	if (hdr[EI_DATA] != ELFDATA2LSB ||
	    (hdr[EI_CLASS] != ELFCLASS64 && hdr[EI_CLASS] != ELFCLASS32))
		return false;
	type = e64.e_type;
	shoff = hdr[EI_CLASS] == ELFCLASS64 ? e64.e_shoff : e32.e_shoff;
	shnum = hdr[EI_CLASS] == ELFCLASS64 ? e64.e_shnum : e32.e_shnum;
	phnum = hdr[EI_CLASS] == ELFCLASS64 ? e64.e_phnum : e32.e_phnum;
	/* A table of sections with a count of 0: the real count is elsewhere, and has 32 bits. */
	return (type == ET_EXEC || type == ET_DYN) && (shnum > 0 || shoff == 0) &&
	       shnum <= SECTIONS_MAX && phnum <= SEGMENTS_MAX;
}

/* ---- headers ------------------------------------------------------------------------------------
 */

#define HEAD_SZ 2048 /* holds all headers and the build ID of most files */

/* The bytes of a file that is being opened; the first ones have been read. */
struct bytes {
	int fd; /* -1: there are no more bytes */
	const uint8_t *head;
	size_t head_sz;
	bool is64;
};

static bool elffile_get(const struct bytes *b, uint64_t off, void *to, size_t sz)
{
	if (off <= b->head_sz && sz <= b->head_sz - off) {
		memcpy(to, b->head + off, sz);
		return true;
	}
	return b->fd >= 0 && off <= INT64_MAX && pread(b->fd, to, sz, (off_t)off) == (ssize_t)sz;
}

static bool elffile_get_ehdr(const struct bytes *b, GElf_Ehdr *e)
{
	Elf32_Ehdr e32;

	if (b->is64)
		return elffile_get(b, 0, e, sizeof(*e));
	if (!elffile_get(b, 0, &e32, sizeof(e32)))
		return false;
	*e = (GElf_Ehdr){ .e_type = e32.e_type,
			  .e_machine = e32.e_machine,
			  .e_phoff = e32.e_phoff,
			  .e_phentsize = e32.e_phentsize,
			  .e_phnum = e32.e_phnum,
			  .e_shoff = e32.e_shoff,
			  .e_shentsize = e32.e_shentsize,
			  .e_shnum = e32.e_shnum,
			  .e_shstrndx = e32.e_shstrndx };
	return true;
}

static bool elffile_get_phdr(const struct bytes *b, uint64_t off, GElf_Phdr *p)
{
	Elf32_Phdr p32;

	if (b->is64)
		return elffile_get(b, off, p, sizeof(*p));
	if (!elffile_get(b, off, &p32, sizeof(p32)))
		return false;
	*p = (GElf_Phdr){ .p_type = p32.p_type,
			  .p_flags = p32.p_flags,
			  .p_offset = p32.p_offset,
			  .p_vaddr = p32.p_vaddr,
			  .p_filesz = p32.p_filesz,
			  .p_align = p32.p_align };
	return true;
}

static int elffile_by_off(const void *a, const void *b)
{
	const struct elf_segment *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Skips to a multiple of `align` after `begin`; the padding of the last note may be missing. */
static void elffile_skip_padding(struct cursor *c, const uint8_t *begin, size_t align)
{
	size_t pad = -(size_t)(c->pos - begin) & (align - 1);

	cursor__bytes(c, pad < cursor__left(c) ? pad : cursor__left(c));
}

/* Finds the build ID in notes. Their parts begin at multiples of `align`: 4 or 8. */
static bool elffile_find_note(struct elf_file *f, const uint8_t *notes, size_t sz, size_t align)
{
	struct cursor c = cursor__on(notes, sz);

	while (cursor__left(&c)) {
		uint32_t name_sz = cursor__u32(&c), desc_sz = cursor__u32(&c);
		uint32_t type = cursor__u32(&c);
		const void *name = cursor__bytes(&c, name_sz), *desc;

		elffile_skip_padding(&c, notes, align);
		desc = cursor__bytes(&c, desc_sz);
		if (c.err)
			return false;
		elffile_skip_padding(&c, notes, align);
		if (type != NT_GNU_BUILD_ID || name_sz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 || desc_sz == 0)
			continue;
		f->build_id.sz = desc_sz < BUILD_ID_MAX ? (uint8_t)desc_sz : BUILD_ID_MAX;
		memcpy(f->build_id.bytes, desc, f->build_id.sz);
		return true;
	}
	return false;
}

/* The position of notes. */
struct notes {
	uint64_t off, sz, align;
};

static bool notes_at(struct elf_file *f, const struct bytes *b, struct notes n)
{
	uint8_t small[256], *bytes;
	bool found;

	if (f->build_id.sz || n.sz == 0 || n.sz > NOTES_MAX)
		return false;
	bytes = n.sz <= sizeof(small) ? small : malloc(n.sz);
	found = bytes && elffile_get(b, n.off, bytes, n.sz) &&
		elffile_find_note(f, bytes, n.sz, n.align == 8 ? 8 : 4);
	if (bytes != small)
		free(bytes);
	return found;
}

static void elffile_take_phdr(struct elf_file *f, const struct bytes *b, const GElf_Phdr *p)
{
	if (p->p_type == PT_NOTE)
		notes_at(f, b, (struct notes){ p->p_offset, p->p_filesz, p->p_align });
	if (p->p_type == PT_LOAD && p->p_filesz <= UINT64_MAX - p->p_offset)
		f->segments[f->segment_cnt++] =
			(struct elf_segment){ p->p_offset, p->p_vaddr, p->p_filesz, p->p_flags };
}

/* Reads as many headers as a truncated file has. */
static int elffile_read_phdrs(struct elf_file *f, const struct bytes *b, const GElf_Ehdr *e)
{
	size_t sz = b->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	GElf_Phdr p;

	if (e->e_phnum && e->e_phentsize != sz)
		return -ENOEXEC;
	f->segments = calloc(e->e_phnum ? e->e_phnum : 1, sizeof(*f->segments));
	if (!f->segments)
		return -ENOMEM;
	for (size_t i = 0; i < e->e_phnum && elffile_get_phdr(b, e->e_phoff + i * sz, &p); i++)
		elffile_take_phdr(f, b, &p);
	qsort(f->segments, f->segment_cnt, sizeof(*f->segments), elffile_by_off);
	return 0;
}

/* Reads what notes need of a section header. */
static bool elffile_get_shdr(const struct bytes *b, uint64_t off, GElf_Shdr *sh)
{
	Elf32_Shdr s32;

	if (b->is64)
		return elffile_get(b, off, sh, sizeof(*sh));
	if (!elffile_get(b, off, &s32, sizeof(s32)))
		return false;
	*sh = (GElf_Shdr){ .sh_type = s32.sh_type,
			   .sh_offset = s32.sh_offset,
			   .sh_size = s32.sh_size,
			   .sh_addralign = s32.sh_addralign };
	return true;
}

/* Separate debug files have notes in sections only. */
static void elffile_read_note_sections(struct elf_file *f, const struct bytes *b)
{
	const struct elf_section_table *t = &f->section_table;
	size_t sz = b->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	GElf_Shdr sh;

	if (t->entry_sz != sz)
		return;
	for (size_t i = 1;
	     i < t->cnt && !f->build_id.sz && elffile_get_shdr(b, t->off + i * sz, &sh); i++)
		if (sh.sh_type == SHT_NOTE)
			notes_at(f, b, (struct notes){ sh.sh_offset, sh.sh_size, sh.sh_addralign });
}

/*
 * On a file system that is mounted nosuid (removable media, FUSE), another user may control what
 * root owns. The kernel does not trust it, and neither does this function.
 */
static bool elffile_is_trusted(const struct stat *st, const struct statfs *fs)
{
	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       !(fs->f_flags & ST_NOSUID);
}

bool elf_file__trusts(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstat(fd, &st) == 0 && fstatfs(fd, &fs) == 0 && elffile_is_trusted(&st, &fs);
}

/* Where no name can be looked up in memory alone (handle__open_cached(); on ZFS always), the mount
 * decides. */
static bool elf_file__is_at(const char *path, const struct elf_file *f)
{
	int handle = path[0] == '/' ? handle__open_cached(path) : -ENOENT;
	struct stat st = { 0 };
	bool same;

	if (handle == -EAGAIN)
		return mount__is_here("/proc/self/mountinfo", f->fd);
	same = handle >= 0 && handle__stat(handle, "", &st) == 0 && st.st_dev == f->dev &&
	       st.st_ino == f->ino;
	if (handle >= 0)
		close(handle);
	return same;
}

void elf_file__check_place(struct elf_file *f, const char *path)
{
	if (f && f->trusted)
		f->trusted = elf_file__is_at(path, f);
}

bool elf_file__looks_like_one(int fd)
{
	uint8_t head[sizeof(Elf64_Ehdr)];

	return pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       elffile_header_ok(head, sizeof(head));
}

#define OWNER_FUSE  UINT32_MAX /* file systems on which any owner can be claimed */
#define OWNER_RANGE 65536      /* additional ids of one user (/etc/subuid) */

static uint32_t elffile_owner_of(const struct stat *st, const struct statfs *fs)
{
	if (fs->f_type == FUSE_SUPER_MAGIC)
		return OWNER_FUSE;
	return st->st_uid < OWNER_RANGE ? st->st_uid : st->st_uid / OWNER_RANGE * OWNER_RANGE;
}

static int elffile_identify(struct elf_file *f, uint8_t *head, size_t *head_sz)
{
	struct statfs fs;
	struct stat st;
	ssize_t got;

	if (fstat(f->fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->ctime = st.st_ctim;
	f->sz = (uint64_t)st.st_size;
	got = pread(f->fd, head, HEAD_SZ, 0);
	if (got < 0)
		return -errno;
	if (!elffile_header_ok(head, (size_t)got))
		return -ENOEXEC;
	if (fstatfs(f->fd, &fs) != 0)
		return -errno;
	f->trusted = elffile_is_trusted(&st, &fs);
	f->owner = elffile_owner_of(&st, &fs);
	*head_sz = (size_t)got;
	return 0;
}

static int elffile_read_headers(struct elf_file *f, const uint8_t *head, size_t head_sz)
{
	struct bytes b = { f->fd, head, head_sz, head[EI_CLASS] == ELFCLASS64 };
	GElf_Ehdr ehdr;
	int err;

	if (!elffile_get_ehdr(&b, &ehdr))
		return -ENOEXEC;
	if (b.is64)
		f->machine = machine__of_elf(ehdr.e_machine);
	f->section_table = (struct elf_section_table){ ehdr.e_shoff, ehdr.e_shentsize, ehdr.e_shnum,
						       ehdr.e_shstrndx };
	f->program_table =
		(struct elf_program_table){ ehdr.e_phoff, ehdr.e_entry, ehdr.e_phnum, ehdr.e_type };
	err = elffile_read_phdrs(f, &b, &ehdr);
	if (err)
		return err;
	elffile_read_note_sections(f, &b);
	return 0;
}

static Elf *elf_file_begin(const struct elf_file *f)
{
	if (f->image)
		return elf_memory(f->image, f->sz);
	if (!elf_file__looks_like_one(f->fd))
		return NULL;
	return elf_begin(f->fd, ELF_C_READ, NULL);
}

Elf *elf_file__elf(const struct elf_file *f)
{
	struct elf_file *own = (struct elf_file *)f;

	if (!f->elf)
		own->elf = elf_file_begin(f);
	return f->elf;
}

/* libelf must know the version before any other call. */
__attribute__((constructor)) static void elffile_begin_libelf(void)
{
	elf_version(EV_CURRENT);
}

static struct elf_file *elffile_begin(const char *path)
{
	struct elf_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = -1;
	f->refs = 1;
	f->path = strdup(path);
	if (!f->path) {
		elf_file__free(f);
		return errno = ENOMEM, NULL;
	}
	return f;
}

struct elf_file *elf_file__new(int fd, const char *path)
{
	struct elf_file *f = elffile_begin(path);
	int err = f ? 0 : -ENOMEM;
	uint8_t head[HEAD_SZ];
	size_t head_sz = 0;

	if (!f)
		close(fd);
	else
		f->fd = fd;
	if (!err)
		err = elffile_identify(f, head, &head_sz);
	if (!err)
		err = elffile_read_headers(f, head, head_sz);
	if (!err)
		return f;
	elf_file__free(f);
	return errno = -err, NULL;
}

struct elf_file *elf_file__from_memory(void *image, size_t sz, const char *path)
{
	struct elf_file *f = elffile_begin(path);
	int err = f ? 0 : -ENOMEM;

	if (!f)
		free(image);
	else
		f->image = image;
	if (!err)
		err = image && elffile_header_ok(image, sz) ? 0 : -ENOEXEC;
	if (!err) {
		f->trusted = true;
		f->sz = sz;
		err = elffile_read_headers(f, image, sz);
	}
	if (!err)
		return f;
	elf_file__free(f);
	return errno = -err, NULL;
}

struct elf_file *elf_file__open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? NULL : elf_file__new(fd, path);
}

void elf_file__free(struct elf_file *f)
{
	if (!f)
		return;
	for (int i = 0; i < ELF_SLOT_CNT; i++)
		if (f->slots[i].free)
			f->slots[i].free(f->slots[i].data);
	elf_end(f->elf);
	free(f->sections);
	if (f->fd >= 0)
		close(f->fd);
	free(f->image);
	free(f->segments);
	free(f->path);
	free(f);
}

void elf_file__pin(struct elf_file *f, enum elf_slot slot)
{
	if (!f)
		return;
	f->slots[slot].pins++;
	f->slots[slot].age = 0;
}

void elf_file__unpin(struct elf_file *f, enum elf_slot slot)
{
	if (f)
		f->slots[slot].pins--;
}

struct elf_file *elf_file__get(struct elf_file *f)
{
	if (f)
		f->refs++;
	return f;
}

void elf_file__put(struct elf_file *f)
{
	if (!f || --f->refs > 0)
		return;
	if (f->holder)
		f->holder->release(f->holder, f);
	else
		elf_file__free(f);
}

bool elf_file__hold(struct elf_file *f, size_t sz)
{
	if (f->trusted)
		return true;
	if (f->holder)
		return f->holder->hold(f->holder, f, sz);
	f->held_sz += sz;
	return true;
}

/* Ranges may overlap in a forged file, or share a page of it: prefers code. */
bool elf_file__vaddr(const struct elf_file *f, uint64_t off, uint64_t *vaddr)
{
	const struct elf_segment *found = NULL;

	*vaddr = 0;
	for (size_t i = 0; i < f->segment_cnt && f->segments[i].off <= off; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (off - s->off < s->sz && (!found || (s->flags & PF_X)))
			found = s;
	}
	if (found)
		*vaddr = off - found->off + found->vaddr;
	return found != NULL;
}
