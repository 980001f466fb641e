/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files, opened once and shared by every process that maps them. */
#ifndef ELF_ELFFILE_H
#define ELF_ELFFILE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "event/record.h"

struct elf_segment {
	uint64_t off, vaddr, sz; /* file offset, link-time address, bytes in the file */
	uint32_t flags;		 /* PF_* */
};

/* What other layers hang on a file; freed with it. One slot per layer that needs one. */
enum elf_slot {
	ELF_SLOT_UNWIND,
	ELF_SLOT_TABLE,
	ELF_SLOT_SYMBOLS,
	ELF_SLOT_SYMTAB_READ,
	ELF_SLOT_CNT
};

struct elf_attachment {
	void *data;
	void (*free)(void *data);
};

/*
 * One ELF file. The key is the build ID when `trusted` (root owns the file and nobody else can
 * write it), else device, inode and change time: a build ID is a claim, and only root's files speak
 * for theirs.
 */
struct elf_file {
	struct build_id build_id; /* from the file itself; sz 0: none */
	bool trusted;		  /* root's, and reached in this mount namespace */
	uint32_t owner;		  /* !trusted: on whose account it is, see elf_file__hold() */
	uint64_t crowd;		  /* of jobs that read it, see struct job */
	uint64_t origin; /* what .identify of struct process_options said of it; 0: nothing */
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
	const struct machine *machine; /* NULL: one that we do not know, or of 32 bits */
	char *path; /* as the first process that mapped it saw it, without " (deleted)" */
	Elf *elf;   /* private: elf_file__elf() */
	int fd;
	uint64_t sz;		      /* when it was opened */
	struct elf_segment *segments; /* PT_LOAD, ascending by off */
	size_t segment_cnt;
	struct elf_section_table {
		uint64_t off;
		uint16_t entry_sz, cnt, names; /* the last: of the section with their names */
	} section_table;		       /* as the ELF header says */
	unsigned refs;
	struct elf_attachment slots[ELF_SLOT_CNT];
	size_t held_sz;		 /* what elf_file__hold() allowed */
	struct elf_cache *cache; /* private to process/: who keeps it; NULL: nobody */
	void *image;		 /* private to process/: the bytes of a file in memory */
};

/*
 * Opens a file that is in no cache; put it when done. NULL + errno, ENOEXEC when it is no ELF
 * program or library of this machine's byte order.
 */
struct elf_file *elf_file__open(const char *path);
struct elf_file *elf_file__new(int fd, const char *path); /* takes fd, also when it fails */
/* `image` is malloc()ed and taken, also when it fails. It is trusted: the kernel's vdso. */
struct elf_file *elf_file__from_memory(void *image, size_t sz, const char *path);

struct elf_file *elf_file__get(struct elf_file *); /* one more reference; NULL gives NULL */
void elf_file__put(struct elf_file *);		   /* accepts NULL */

/*
 * libelf's handle, made when it is first asked for: most files are only looked at. It reads with
 * pread and maps nothing: a file cut short must not raise SIGBUS. NULL when that fails, which
 * libelf's functions accept.
 */
Elf *elf_file__elf(const struct elf_file *);

/*
 * Another handle, for another thread; elf_end() it. The header is checked again, which its owner
 * may have written since the file was opened: libelf allocates for every section that it claims.
 */
Elf *elf_file__begin(const struct elf_file *);

/* Link-time address of a file offset, or 0 and false when no PT_LOAD holds it. */
bool elf_file__vaddr(const struct elf_file *, uint64_t off, uint64_t *vaddr);

/* The first section of that name, or NULL. Its size is what the file claims: see how much is
 * reasonable before elf_getdata() reads it into memory. */
Elf_Scn *elf_file__section(const struct elf_file *, const char *name, GElf_Shdr *);

/*
 * Asks before `sz` bytes are kept in memory for as long as the file is: what anybody may have made
 * has 256 MB in all, and the files of one user half of what those of others leave, so that nobody
 * uses up what others need. Files in no cache, and trusted ones, may. For the thread that owns the
 * cache.
 */
bool elf_file__hold(struct elf_file *, size_t sz);

static inline bool build_id__equal(const struct build_id *a, const struct build_id *b)
{
	return a->sz == b->sz && memcmp(a->bytes, b->bytes, a->sz) == 0;
}

#endif
