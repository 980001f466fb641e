/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files, opened once and shared by every process that maps them. */
#ifndef ELF_ELFFILE_H
#define ELF_ELFFILE_H

#include <gelf.h>
#include <libelf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "event/record.h"

struct elf_segment {
	uint64_t off, vaddr, sz; /* file offset, link-time address, bytes in the file */
	uint32_t flags;		 /* PF_* */
};

/* Data that other layers attach to a file. Each layer that needs one has a slot. Freed with the
 * file, or before, when memory is short or the data has not been used for some time (elfcache.h).
 */
enum elf_slot {
	ELF_SLOT_UNWIND,
	ELF_SLOT_TABLE,
	ELF_SLOT_SYMBOLS,
	ELF_SLOT_SYMTAB_READ,
	ELF_SLOT_NOTES, /* of static probes: elf/sdttask.h */
	ELF_SLOT_CNT
};

struct elf_attachment {
	void *data;
	void (*free)(void *data);
	atomic_size_t sz; /* bytes in memory, for elf_cache__sizes() */
	size_t held;	  /* bytes that elf_file__hold() allowed for it */
	unsigned age;	  /* passes of elf_cache__sweep() since the last use; users set it to 0 */
	unsigned pins;	  /* see elf_file__pin() */
};

struct elf_file;
struct elf_sections;
struct debug_opener;

/* What keeps files without references, and limits their memory: elf/elfcache.h. */
struct elf_holder {
	void (*release)(struct elf_holder *, struct elf_file *); /* it has no references any more */
	bool (*hold)(struct elf_holder *, struct elf_file *, size_t sz); /* elf_file__hold() */
};

/*
 * One ELF file. Its key is the build ID if it is `trusted` (root owns the file and no other user
 * can write it), else device, inode and change time. A build ID is only a claim, and only root's
 * files are believed.
 */
struct elf_file {
	struct build_id build_id; /* from the file itself; sz 0: none */
	bool trusted;		  /* owned by root, and opened in this mount namespace */
	uint32_t owner;		  /* account of an untrusted file, see elf_file__hold() */
	uint64_t crowd;		  /* of jobs that read it, see struct job */
	uint64_t origin;	  /* set by .identify of struct process_options; 0: none */
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
	const struct machine *machine; /* NULL: unknown, or 32-bit */
	char *path; /* as the first process that mapped it saw it, without " (deleted)" */
	Elf *elf;   /* private: elf_file__elf() */
	int fd;
	uint64_t sz;		      /* size when it was opened */
	struct elf_segment *segments; /* PT_LOAD, ascending by off */
	size_t segment_cnt;
	struct elf_section_table {
		uint64_t off;
		/* names: index of the section with the section names */
		uint16_t entry_sz, cnt, names;
	} section_table; /* from the ELF header */
	struct elf_program_table {
		uint64_t off, entry; /* entry: the address where a program starts */
		uint16_t cnt, type;  /* type: ET_EXEC or ET_DYN */
	} program_table;	     /* from the ELF header */
	/* private: read at the first use (elf/section.h); NULL: not yet */
	struct elf_sections *sections;
	unsigned refs;
	struct elf_attachment slots[ELF_SLOT_CNT];
	size_t held_sz;		   /* bytes that elf_file__hold() allowed */
	struct elf_holder *holder; /* keeps it when it has no references; NULL: nothing does */
	void *image;		   /* private: the bytes of a file in memory */
	/* opens its separate debug file (elf/debugfile.h); NULL: this process may do that itself */
	const struct debug_opener *debug_opener;
};

/*
 * Opens a file without a cache; put it when done. Returns NULL and sets errno, ENOEXEC if it is not
 * an ELF program or library of this machine's byte order.
 */
struct elf_file *elf_file__open(const char *path);
/* takes ownership of fd, also on failure */
struct elf_file *elf_file__new(int fd, const char *path);
/* Takes ownership of the malloc()ed `image`, also on failure. The file is trusted: it is the
 * kernel's vdso. */
struct elf_file *elf_file__from_memory(void *image, size_t sz, const char *path);

/*
 * Clears .trusted unless the path leads to the file in this mount namespace, too. In another one (a
 * container) root may be another user, and its file proves nothing about the files here. Call it
 * for a file that was found through a process. Does not wait for a file system: a user may choose
 * the path, and mount one there. Accepts NULL.
 */
void elf_file__check_place(struct elf_file *, const char *path);

/* Returns whether an open file would be .trusted. */
bool elf_file__trusts(int fd);
/* Returns whether an open file begins like an ELF program or library of this byte order. */
bool elf_file__looks_like_one(int fd);

struct elf_file *elf_file__get(struct elf_file *); /* takes a reference; NULL gives NULL */
void elf_file__put(struct elf_file *);		   /* accepts NULL */
/* Frees a file and its attachments, even if there are references. Accepts NULL. For its holder. */
void elf_file__free(struct elf_file *);

/* Keeps the data of a slot, also one that is still empty, until elf_file__unpin(). Only the thread
 * that owns the cache may call these two. They accept NULL. */
void elf_file__pin(struct elf_file *, enum elf_slot);
void elf_file__unpin(struct elf_file *, enum elf_slot);

/*
 * Returns libelf's handle, which is created at first use: only compressed sections and libdw need
 * it. It reads with pread() and maps nothing: a truncated file must not raise SIGBUS. Checks the
 * header again, because the owner may have changed it since: libelf allocates memory for every
 * section that it declares. Returns NULL on failure, which libelf's functions accept.
 */
Elf *elf_file__elf(const struct elf_file *);

/* Converts a file offset to a link-time address. Returns false and sets 0 if no PT_LOAD has it. */
bool elf_file__vaddr(const struct elf_file *, uint64_t off, uint64_t *vaddr);

/*
 * Call it before keeping `sz` bytes in memory for the lifetime of the file. Untrusted files have
 * 256 MB in all. The files of one user get at most half of what the files of other users leave, so
 * that no user can use up the memory of others. Returns true for trusted files and files without a
 * holder. Only the thread that owns the holder may call it.
 */
bool elf_file__hold(struct elf_file *, size_t sz);

static inline bool build_id__equal(const struct build_id *a, const struct build_id *b)
{
	return a->sz == b->sz && memcmp(a->bytes, b->bytes, a->sz) == 0;
}

#endif
