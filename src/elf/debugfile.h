/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate debug information: where it is and whether it may be believed. */
#ifndef ELF_DEBUGFILE_H
#define ELF_DEBUGFILE_H

#include "elf/elffile.h"

#define DEBUG_DIR "/usr/lib/debug"

/*
 * The separate debug file: DIR/.build-id/xx/rest.debug, else the name in .gnu_debuglink in the
 * file's folder, its .debug/ and below DIR. It must have the same build ID or, where the file has
 * none, the right CRC. Trusted files get only trusted debug files, others also those of their own
 * owner. `dir` is DEBUG_DIR but in tests. For the caller to put; NULL + errno, ENOENT when there is
 * none.
 */
struct elf_file *debug_file__open(const struct elf_file *, const char *dir);

/* Returns true if the kernel has cached that DIR has no file for the build ID, or if no path can be
 * made of it. Does not wait for a disk. Ignores .gnu_debuglink. */
bool debug_file__is_absent(const struct elf_file *, const char *dir);

/* The ELF image in .gnu_debugdata (xz; at most 64 MiB when unpacked), as debug_file__open(). */
struct elf_file *debug_data__open(const struct elf_file *);

#endif
