/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The origin of code, which is part of a stack ID. The two upper bits tell kinds of origins apart:
 * a path, an untrusted file, a file with a build ID, the kernel, and code that is known only by
 * name. No user can therefore make one kind count as another.
 */
#ifndef STACKS_ORIGIN_H
#define STACKS_ORIGIN_H

#include "elf/elffile.h"

#define ORIGIN_FILE   (1ull << 63)
#define ORIGIN_KERNEL (1ull << 62)
#define ORIGIN_BITS   (ORIGIN_KERNEL - 1) /* the others */

/*
 * Returns 64 bits of a SHA-256 of the build ID and, if the file is not trusted, of its symbols: the
 * same on every host. Returns 0 if the file has no build ID. Reads the symbols. A callback for
 * struct process_options.
 */
uint64_t origin__of(const struct elf_file *);

#endif
