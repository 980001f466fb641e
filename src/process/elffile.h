/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files, opened once and shared by every process that maps them. */
#ifndef PROCESS_ELFFILE_H
#define PROCESS_ELFFILE_H

#include <libelf.h>
#include <stdbool.h>
#include <sys/stat.h>
#include "event/record.h"

struct elf_segment {
	uint64_t off, vaddr, sz; /* file offset, link-time address, bytes in the file */
	uint32_t flags;		 /* PF_* */
};

/* What other layers hang on a file; freed with it. One slot per layer that needs one. */
enum elf_slot { ELF_SLOT_UNWIND, ELF_SLOT_SYMBOLS, ELF_SLOT_CNT };

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
	bool trusted;
	uint64_t digest; /* !trusted: XXH3 over its symbol and string tables; else 0 */
	dev_t dev;
	ino_t ino;
	struct timespec ctime;
	char *path; /* as the first process that mapped it saw it, without " (deleted)" */
	Elf *elf;   /* read with pread, never mapped: a file cut short must not raise SIGBUS */
	int fd;
	struct elf_segment *segments; /* PT_LOAD, ascending by off */
	size_t segment_cnt;
	unsigned refs;
	struct elf_attachment slots[ELF_SLOT_CNT];
};

/* Link-time address of a file offset, or 0 and false when no PT_LOAD holds it. */
bool elf_file__vaddr(const struct elf_file *, uint64_t off, uint64_t *vaddr);

#endif
