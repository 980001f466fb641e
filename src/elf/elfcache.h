/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All ELF files that are in use, and those that were lately: opened once, shared by every process
 * that maps them. Files that nobody refers to stay until there are too many, so that a process that
 * is gone still has its names.
 */
#ifndef ELF_ELFCACHE_H
#define ELF_ELFCACHE_H

#include "event/record.h"
#include "elf/elffile.h"

struct elf_cache;

/*
 * `idle_max`: files that nobody refers to; 0: what suits the limit of open files. `held_max`: bytes
 * that hang on files that anybody may have made; 0: 256 MB. NULL + errno.
 */
struct elf_cache *elf_cache__new(size_t idle_max, size_t held_max);
void elf_cache__free(struct elf_cache *); /* and every file in it, referenced or not */

/*
 * The file behind fd, which is taken: for one that elf_cache__find() does not know. `path` is
 * remembered when the file is new. NULL + errno: ENOEXEC when it is no ELF file, ESTALE when its
 * build ID is not `expected` (NULL: any will do). The caller puts what it gets.
 */
struct elf_file *elf_cache__open(struct elf_cache *, int fd, const char *path,
				 const struct build_id *expected);

/* The same of a file that has been read already, which it takes. Accepts NULL (errno stays). */
struct elf_file *elf_cache__take(struct elf_cache *, struct elf_file *,
				 const struct build_id *expected);

/*
 * What elf_cache__open() would give for a file with this identity (.st_dev, .st_ino, .st_ctim), as
 * far as the cache knows: NULL + errno ENOENT when the file has to be opened, ENOEXEC also when
 * elf_cache__adopt() was told so.
 */
struct elf_file *elf_cache__find(struct elf_cache *, const struct stat *,
				 const struct build_id *expected);

/* A trusted file with that build ID, or NULL. The caller puts it. */
struct elf_file *elf_cache__by_build_id(struct elf_cache *, const struct build_id *);

/*
 * What the kernel calls a file (.maj, .min, .ino, .gen) is kept with it, to find it by when the
 * process that maps it cannot be asked any more: the one that was mapped by that name last, if
 * it is trusted; or NULL. The caller puts it.
 */
void elf_cache__name(struct elf_cache *, struct elf_file *, const struct record_mmap *);
struct elf_file *elf_cache__by_name(struct elf_cache *, const struct record_mmap *);

/* A file of the cache's, with one reference, becomes the caller's own, in no cache. */
void elf_cache__give(struct elf_cache *, struct elf_file *);
/*
 * Takes such a file, or that it is none (NULL: remembered, too). `st` says whose identity it has;
 * NULL: its own. What speaks for the file: itself, or one that did already; the caller puts it.
 */
struct elf_file *elf_cache__adopt(struct elf_cache *, struct elf_file *, const struct stat *st);

size_t elf_cache__cnt(const struct elf_cache *);

/* For elf_file__put(): the last reference to one of its files is gone. */
void elf_cache__release(struct elf_cache *, struct elf_file *);

/* For the cache: frees a file and what hangs on it, whoever refers to it. Accepts NULL. */
void elf_file__free(struct elf_file *);

#endif
