/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an ELF file to its table, or to what answers as long as there is none. */
#ifndef UNWIND_TABLEFILE_H
#define UNWIND_TABLEFILE_H

#include "process/elffile.h"
#include "unwind/frameindex.h"

/*
 * Compiles .eh_frame and .debug_frame (also compressed; of .gnu_debugdata or the separate debug
 * file where the file itself has neither). Reads the file through its libelf handle, so nobody else
 * may use that meanwhile. malloc()ed; NULL + errno: ENOENT when there is nothing to compile,
 * ENOTSUP for a machine that we do not know.
 */
struct frame_table *frame_table__of_file(struct elf_file *);

/* By `read` alone, without libelf. NULL + errno: EINVAL when the file has no search table as
 * linkers write it, or more call-frame information than that knows of; or what `read` said. */
struct frame_index *frame_index__of_file(const struct elf_file *, struct index_reader);

#endif
