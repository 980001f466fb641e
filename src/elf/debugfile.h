/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds separate debug information, and checks whether it can be trusted. */
#ifndef ELF_DEBUGFILE_H
#define ELF_DEBUGFILE_H

#include "elf/elffile.h"

#define DEBUG_DIR "/usr/lib/debug"

/*
 * Opens the separate debug file: DIR/.build-id/xx/rest.debug, else the name in .gnu_debuglink in
 * the file's folder, in its .debug/ and under DIR. The debug file must have the same build ID or,
 * if the file has none, the right CRC. Trusted files get only trusted debug files; others also get
 * debug files of their owner. `dir` is DEBUG_DIR except in tests. The caller must put the result.
 * Returns NULL and sets errno, ENOENT if there is none.
 */
struct elf_file *debug_file__open(const struct elf_file *, const char *dir);

/* Returns true if the kernel has cached that DIR has no file for the build ID, or if the build ID
 * gives no valid path. Does not wait for a disk. Ignores .gnu_debuglink. */
bool debug_file__is_absent(const struct elf_file *, const char *dir);

/* Opens the ELF image in .gnu_debugdata (xz; at most 64 MiB unpacked). Returns like
 * debug_file__open(). */
struct elf_file *debug_data__open(const struct elf_file *);

#endif
