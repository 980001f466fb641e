/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code counts as in the ids of stacks: by the two upper bits, so that nobody's path is made to
 * count as another's file, a file with a build ID, the kernel, or what is known by a name only,
 * which anybody may have.
 */
#ifndef STACKS_ORIGIN_H
#define STACKS_ORIGIN_H

#include "elf/elffile.h"

#define ORIGIN_FILE   (1ull << 63)
#define ORIGIN_KERNEL (1ull << 62)
#define ORIGIN_BITS   (ORIGIN_KERNEL - 1) /* the others */

/*
 * 64 bits of a SHA-256 of the build ID and, where the file is not trusted, of its symbols: the same
 * on every host. 0: it has no build ID. Reads the symbols: for struct process_options.
 */
uint64_t origin__of(const struct elf_file *);

#endif
