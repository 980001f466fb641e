/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening files as the process that maps them sees them. */
#ifndef PROCESS_OPEN_H
#define PROCESS_OPEN_H

#include "process/elfcache.h"

/* What is mapped where: `proc` is an open /proc. */
struct open_request {
	int proc;
	uint32_t tgid;
	const struct record_mmap *map;
	const char *path; /* without " (deleted)" */
};

/*
 * The ELF file of a mapping. Tried in turn: the inode that is mapped, the path in the process's
 * root folder, the path on the host, each used only when it has the build ID, else the device and
 * inode, that the mapping has; last a trusted file that is already open and has the build ID.
 * NULL + errno: ENOEXEC when what is mapped is no ELF file. Never blocks on, nor disturbs, what is
 * no regular file.
 */
struct elf_file *elf_cache__open_mapped(struct elf_cache *, const struct open_request *);

/* The kernel's vdso for 64-bit processes: a copy of this process's own. NULL + errno. */
struct elf_file *elf_file__vdso(void);

#endif
