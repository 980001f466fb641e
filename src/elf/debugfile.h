/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds separate debug information, and checks whether it can be trusted. */
#ifndef ELF_DEBUGFILE_H
#define ELF_DEBUGFILE_H

#include <limits.h>

#include "elf/elffile.h"

#define DEBUG_DIR "/usr/lib/debug"

/* Where a debug file may be: in the folder of build IDs, or, by the name in .gnu_debuglink, in the
 * file's folder, in its .debug/ and under DIR. */
enum debug_place {
	DEBUG_BY_BUILD_ID,
	DEBUG_BESIDE,
	DEBUG_IN_FOLDER,
	DEBUG_BELOW_DIR,
	DEBUG_PLACE_CNT
};

struct debug_query {
	uint32_t place;		 /* enum debug_place */
	char name[NAME_MAX + 1]; /* with a NUL; "" for DEBUG_BY_BUILD_ID */
};

/* Opens debug files for a process that may not. */
struct debug_opener {
	/* Returns a descriptor of a file that debug_file__find() accepted, or -errno. */
	int (*open)(const struct debug_query *, void *arg);
	void *arg;
};

/*
 * Opens the separate debug file: DIR/.build-id/xx/rest.debug, else the name in .gnu_debuglink in
 * the file's folder, in its .debug/ and under DIR, or what the file's debug opener finds. The debug
 * file must have the same build ID or, if the file has none, the right CRC. Trusted files get only
 * trusted debug files; others also get debug files of their owner. `dir` is DEBUG_DIR except in
 * tests. The caller must put the result. Returns NULL and sets errno, ENOENT if there is none.
 */
struct elf_file *debug_file__open(const struct elf_file *, const char *dir);

/*
 * Opens the candidate for a file's debug file, of which .fd, .path, .dev, .build_id and .trusted
 * are used. Checks its owner, as debug_file__open() does, and not its contents. Whoever sends the
 * query may be hostile: a root's file is opened only if it is an ELF file. Returns a descriptor or
 * -errno.
 */
int debug_file__find(const struct elf_file *, const char *dir, const struct debug_query *);
/* Like debug_file__find() in DEBUG_DIR, for a query of `sz` bytes that a worker sent about `file`
 * (const struct elf_file *). For .open of worker requests. */
int debug_file__find_wanted(const void *query, size_t sz, void *file);

/* Returns true if the kernel has cached that DIR has no file for the build ID, or if the build ID
 * gives no valid path. Does not wait for a disk. Ignores .gnu_debuglink. */
bool debug_file__is_absent(const struct elf_file *, const char *dir);

/* Opens the ELF image in .gnu_debugdata (xz; at most 64 MiB unpacked). Returns like
 * debug_file__open(). */
struct elf_file *debug_data__open(const struct elf_file *);

#endif
