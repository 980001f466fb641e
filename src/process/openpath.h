/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files as the process sees that maps them. */
#ifndef PROCESS_OPENPATH_H
#define PROCESS_OPENPATH_H

#include <sys/sysmacros.h>

#include "base/errand.h"
#include "elf/elfcache.h"
#include "process/finder.h"
#include "base/handle.h"
#include "process/overlay.h"

/* The places in which files are searched. */
struct file_places {
	int proc;		 /* an open /proc; -1: none */
	struct errands *errands; /* see struct mmquery */
	bool told; /* mappings come from records: a process with this id may be another one */
	bool past; /* … and is another one if the records do not identify the file */
	struct finder *finder; /* borrowed; NULL: none */
	struct own_files own;
	uint64_t (*identify)(const struct elf_file *); /* see struct process_options */
};

/* Returns true if the process may be queried: most processes still exist and have their mappings.
 */
static inline bool may_be_queried(const struct file_places *p)
{
	return p->proc >= 0 && !p->past;
}

/*
 * Returns true if a file may be the one that the kernel reported under this name: the process may
 * have mapped another one there since. Devices without a number of their own (major 0: overlay,
 * btrfs) have another number in stat(2).
 */
static inline bool may_be_named(const struct record_mmap *m, uint64_t dev, uint64_t ino)
{
	return m->maj == 0 || major(dev) == 0 || (m->ino == ino && makedev(m->maj, m->min) == dev);
}

/* A mapping, and what is known of its file. */
struct open_request {
	const struct file_places *places;
	struct overlays *overlays; /* of the process, borrowed; NULL: none */
	uint32_t tgid;
	const struct record_mmap *map;
	const char *path;  /* without " (deleted)" */
	const int *handle; /* a handle of the mapped file (base/handle.h); NULL: none yet */
};

/* Returns a handle of the mapped file while the process has it mapped, or -errno. */
int open_request__handle(const struct open_request *);

/*
 * Returns the ELF file of a mapping. Tries in turn: the path in the sysroot, the mapped inode, the
 * path in the process's root folder, in its overlays and on the host, the finder's places for its
 * build ID, last a trusted file that is already open and has the build ID. Uses a file only if it
 * has the build ID of the mapping. If none is known, device and inode must be equal, except for
 * copies in a sysroot of files from records; for these, and if records lack inodes, the file must
 * have code at the mapped offsets.
 *
 * A build ID that was recorded by path (record_mmap.by_path) does not override a recorded inode. A
 * file of the process itself, or of a sysroot, with that inode is taken with any build ID; the file
 * with that path on the host needs both.
 *
 * Returns NULL and sets errno on failure: ENOEXEC if the mapping is no ELF file, EXDEV if the build
 * ID belongs to another file, which has the path on this machine. Never blocks on, nor disturbs,
 * files that are not regular; asks the finder to download a file that was not found.
 */
struct elf_file *elf_cache__open_mapped(struct elf_cache *, const struct open_request *);

/*
 * Like elf_cache__open_mapped(), for files that are already open. Returns NULL and sets errno to
 * ENOENT if the file must be opened. Sets *there if the process has it mapped; `st` is then the
 * status of the file.
 */
struct elf_file *elf_cache__find_mapped(struct elf_cache *, const struct open_request *,
					struct stat *st, bool *there);

/* Sets the origin of an opened file. Accepts NULL. */
void file_places__identify(const struct file_places *, struct elf_file *);

/* Returns the kernel's vdso for 64-bit processes: a copy of this process's own. Returns NULL and
 * sets errno on failure. */
struct elf_file *elf_file__vdso(void);

#endif
