/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an ELF file to its table. */
#ifndef UNWIND_TABLEFILE_H
#define UNWIND_TABLEFILE_H

#include "process/elffile.h"
#include "unwind/frametable.h"

/*
 * Compiles .eh_frame and .debug_frame (also compressed; of .gnu_debugdata or the separate debug
 * file where the file itself has neither). Reads the file through its libelf handle, so nobody else
 * may use that meanwhile. malloc()ed; NULL + errno: ENOENT when there is nothing to compile,
 * ENOTSUP for what has rules besides its call-frame information (Go).
 */
struct frame_table *frame_table__of_file(struct elf_file *);

#endif
