/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening files as the process that maps them sees them. */
#ifndef PROCESS_OPENPATH_H
#define PROCESS_OPENPATH_H

#include <sys/sysmacros.h>

#include "base/errand.h"
#include "elf/elfcache.h"
#include "process/finder.h"
#include "base/handle.h"
#include "process/overlay.h"

/* Where files may be. */
struct file_places {
	int proc;		 /* an open /proc; -1: none */
	struct errands *errands; /* see struct mmquery */
	bool told; /* what is mapped was told by records: a process with this id may be another one
		    */
	bool past; /* … and surely is when the records do not say which file it was */
	struct finder *finder; /* borrowed; NULL: none */
	struct own_files own;
	uint64_t (*identify)(const struct elf_file *); /* see struct process_options */
};

/* Processes are still there, mostly, and have what they map. */
static inline bool may_be_asked(const struct file_places *p)
{
	return p->proc >= 0 && !p->past;
}

/*
 * Whether a file may be the one that the kernel calls so: by now the process may have mapped
 * another one there. Devices without a number of their own (major 0: overlay, btrfs) have another
 * one in stat(2).
 */
static inline bool may_be_named(const struct record_mmap *m, uint64_t dev, uint64_t ino)
{
	return m->maj == 0 || major(dev) == 0 || (m->ino == ino && makedev(m->maj, m->min) == dev);
}

/* What is mapped where. */
struct open_request {
	const struct file_places *places;
	struct overlays *overlays; /* of the process, borrowed; NULL: none */
	uint32_t tgid;
	const struct record_mmap *map;
	const char *path;  /* without " (deleted)" */
	const int *handle; /* names what is mapped (base/handle.h); NULL: still to be had */
};

/* A handle for what is mapped, while the process has it. >= 0 or -errno. */
int open_request__handle(const struct open_request *);

/*
 * The ELF file of a mapping. Tried in turn: the path in the sysroot, the inode that is mapped, the
 * path in the process's root folder, in its overlays and on the host, the finder's places for its
 * build ID, last a trusted file that is already open and has the build ID. Each is used only when
 * it has the build ID that the mapping has. When none is known, device and inode must be the same,
 * but for a sysroot's copies of the files that records tell of; for these, and where records have
 * not told inodes, the file must have code at the offsets that are mapped.
 * A build ID that was recorded by path (record_mmap.by_path) does not count against an inode that
 * was recorded besides. A file of the process's own, or of a sysroot, with that inode is taken
 * whatever its build ID; the file of that path on the host needs both.
 * NULL + errno: ENOEXEC when what is mapped is no ELF file, EXDEV when the build ID is the one of
 * another file, which has the path on this machine. Never blocks on, nor disturbs, what is
 * no regular file; asks the finder for a download of what was not found.
 */
struct elf_file *elf_cache__open_mapped(struct elf_cache *, const struct open_request *);

/*
 * The same of what is known without opening anything: NULL + errno, ENOENT when the file has to be
 * opened; *there: the process has it mapped, and `st` is the file's.
 */
struct elf_file *elf_cache__find_mapped(struct elf_cache *, const struct open_request *,
					struct stat *st, bool *there);

/* A file that was opened, or NULL. */
void file_places__identify(const struct file_places *, struct elf_file *);

/* The kernel's vdso for 64-bit processes: a copy of this process's own. NULL + errno. */
struct elf_file *elf_file__vdso(void);

#endif
