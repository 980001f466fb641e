/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call-frame information of one function of JIT code, as an ELF file in memory. */
#ifndef JIT_FRAMESIMAGE_H
#define JIT_FRAMESIMAGE_H

#include "elf/elffile.h"
#include "jit/codemap.h"

/* Returns the address of .eh_frame, to which its pc-relative addresses refer: after the code, at a
 * multiple of 8. */
uint64_t frames_image__address(const struct code *);

/* Returns an ELF file that holds only the call-frame information of the code, at its address.
 * Returns NULL if it cannot be made. The caller releases it with elf_file__put(). */
struct elf_file *frames_image__new(const struct code *);

#endif
