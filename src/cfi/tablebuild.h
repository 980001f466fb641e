/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the table of an ELF file, or the lazy table that answers until the table exists. */
#ifndef CFI_TABLEBUILD_H
#define CFI_TABLEBUILD_H

#include "elf/elffile.h"
#include "cfi/lazytable.h"

/*
 * Compiles .eh_frame and .debug_frame, also compressed ones. If the file has neither, compiles
 * those of .gnu_debugdata or of the separate debug file. Uses the file's libelf handle: no other
 * thread may use it meanwhile. Returns a malloc()ed table, or NULL with errno ENOENT if there is
 * nothing to compile, ENOTSUP for an unknown machine.
 */
struct cfi_table *cfi_table__of_file(struct elf_file *);

/*
 * Returns a hash of the sources of a table: the segments and the call-frame sections. A table with
 * another hash belongs to another file, even if the build IDs are equal.
 */
uint64_t cfi_table__digest(const struct elf_file *);

/* Reads the file with `read` only, without libelf. Returns NULL and sets errno: EINVAL if the file
 * has no search table in the form that linkers write, or has call-frame information that the search
 * table does not cover; or the error of `read`. */
struct lazy_table *lazy_table__of_file(const struct elf_file *, struct lazy_reader);

#endif
