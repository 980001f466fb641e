/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All ELF files in use, and recently used ones. Each is opened once and shared by every process
 * that maps it. Files without references stay until there are too many, so that stacks of an ended
 * process still get names.
 */
#ifndef ELF_ELFCACHE_H
#define ELF_ELFCACHE_H

#include "event/record.h"
#include "elf/elffile.h"

struct elf_cache;

/*
 * `idle_max`: number of files without references that are kept; 0: depends on the limit of open
 * files. `held_max`: bytes of memory for untrusted files; 0: 256 MB. Returns NULL and sets errno.
 */
struct elf_cache *elf_cache__new(size_t idle_max, size_t held_max);
/* also frees every file in it, with or without references */
void elf_cache__free(struct elf_cache *);

/*
 * Opens the file of `fd`, for a file that elf_cache__find() does not know. Takes ownership of `fd`.
 * `path` is stored if the file is new. Returns NULL and sets errno: ENOEXEC if it is not an ELF
 * file, ESTALE if its build ID is not `expected` (NULL: any). The caller must put the result.
 */
struct elf_file *elf_cache__open(struct elf_cache *, int fd, const char *path,
				 const struct build_id *expected);

/* Like elf_cache__open(), for a file that has been opened already; takes ownership of it. Accepts
 * NULL (errno stays). */
struct elf_file *elf_cache__take(struct elf_cache *, struct elf_file *,
				 const struct build_id *expected);

/*
 * Returns what elf_cache__open() would return for a file with this identity (.st_dev, .st_ino,
 * .st_ctim), if the cache has it. Returns NULL and sets errno: ENOENT if the file must be opened,
 * ENOEXEC also if elf_cache__adopt() has recorded that it is not an ELF file.
 */
struct elf_file *elf_cache__find(struct elf_cache *, const struct stat *,
				 const struct build_id *expected);

/* Returns the trusted file with that build ID, or NULL. The caller must put it. */
struct elf_file *elf_cache__by_build_id(struct elf_cache *, const struct build_id *);

/*
 * elf_cache__name() stores the kernel's name of a file (.maj, .min, .ino, .gen), to find the file
 * when the process that maps it cannot be queried any more. elf_cache__by_name() returns the file
 * last mapped by that name, if it is trusted, or NULL. The caller must put it.
 */
void elf_cache__name(struct elf_cache *, struct elf_file *, const struct record_mmap *);
struct elf_file *elf_cache__by_name(struct elf_cache *, const struct record_mmap *);

/* Removes a file with one reference from the cache; the caller then owns it. */
void elf_cache__give(struct elf_cache *, struct elf_file *);
/*
 * Takes ownership of a file from elf_cache__give(), or records that the identity is not an ELF file
 * (NULL). `st` is the identity to record it for; NULL: the file's own. Returns the file, or the one
 * that the cache already has in its place; the caller must put it.
 */
struct elf_file *elf_cache__adopt(struct elf_cache *, struct elf_file *, const struct stat *st);

size_t elf_cache__cnt(const struct elf_cache *);

/*
 * Memory of what is attached to the files: names, rules and tables. elf_cache__sweep() frees what
 * has not been used since `age` sweeps. elf_cache__shrink() frees at least `sz` bytes, if there are
 * so many, longest unused first. Both return the number of bytes that were freed. The table of a
 * file is freed only if no process maps the file. Call them when no pointer into the data is in
 * use.
 */
size_t elf_cache__sweep(struct elf_cache *, unsigned age);
size_t elf_cache__shrink(struct elf_cache *, size_t sz);
/* Sums the bytes in memory by slot, also of slots that are pinned and cannot be freed now. Another
 * thread may add data to a pinned slot meanwhile. ELF_SLOT_SYMTAB_READ counts as empty. */
void elf_cache__sizes(const struct elf_cache *, size_t sz[ELF_SLOT_CNT]);

#endif
