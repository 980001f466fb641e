/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an ELF file to its table, or to what answers as long as there is none. */
#ifndef CFI_TABLEBUILD_H
#define CFI_TABLEBUILD_H

#include "elf/elffile.h"
#include "cfi/lazytable.h"

/*
 * Compiles .eh_frame and .debug_frame (also compressed; of .gnu_debugdata or the separate debug
 * file where the file itself has neither). Reads the file through its libelf handle, so nobody else
 * may use that meanwhile. malloc()ed; NULL + errno: ENOENT when there is nothing to compile,
 * ENOTSUP for a machine that we do not know.
 */
struct cfi_table *cfi_table__of_file(struct elf_file *);

/*
 * Returns a hash of what a table is made from: the segments and the call-frame sections. A table
 * with another one is of another file, whatever build ID both have.
 */
uint64_t cfi_table__digest(const struct elf_file *);

/* By `read` alone, without libelf. NULL + errno: EINVAL when the file has no search table as
 * linkers write it, or more call-frame information than that knows of; or what `read` said. */
struct lazy_table *lazy_table__of_file(const struct elf_file *, struct lazy_reader);

#endif
