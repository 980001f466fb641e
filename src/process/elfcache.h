/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All ELF files that are in use, and those that were lately: opened once, shared by every process
 * that maps them. Files that nobody refers to stay until there are too many, so that a process that
 * is gone still has its names.
 */
#ifndef PROCESS_ELFCACHE_H
#define PROCESS_ELFCACHE_H

#include "process/elffile.h"

struct elf_cache;

struct elf_cache *elf_cache__new(void);	  /* NULL + errno; raises the soft limit of open files */
void elf_cache__free(struct elf_cache *); /* and every file in it, referenced or not */

/*
 * The file behind fd, which is taken. `path` is remembered when the file is new. NULL + errno:
 * ENOEXEC when it is no ELF file (remembered too), ESTALE when its build ID is not `expected`
 * (NULL: any will do). The caller puts what it gets.
 */
struct elf_file *elf_cache__open(struct elf_cache *, int fd, const char *path,
				 const struct build_id *expected);

/*
 * What elf_cache__open() would give for a file with this identity (.st_dev, .st_ino, .st_ctim), as
 * far as the cache knows: NULL + errno ENOENT when the file has to be opened.
 */
struct elf_file *elf_cache__find(struct elf_cache *, const struct stat *,
				 const struct build_id *expected);

/* A trusted file with that build ID, or NULL. The caller puts it. */
struct elf_file *elf_cache__by_build_id(struct elf_cache *, const struct build_id *);

size_t elf_cache__cnt(const struct elf_cache *);

/* For elf_file__put(): the last reference to one of its files is gone. */
void elf_cache__release(struct elf_cache *, struct elf_file *);

/* For the cache: frees a file and what hangs on it, whoever refers to it. Accepts NULL. */
void elf_file__free(struct elf_file *);

#endif
