/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of an ELF file, copied into a small ELF file in memory for libdw. So
 * libdw reads neither the rest of the file (it would load every .debug_ section for .debug_frame's
 * sake) nor bytes that may change or vanish under it, and a lie about a size ends here.
 */
#ifndef CFI_LIBDWIMAGE_H
#define CFI_LIBDWIMAGE_H

#include <elfutils/libdw.h>

#include "elf/elffile.h"

struct libdw_image {
	uint8_t *bytes;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame;	/* NULL: none */
	Dwarf_CFI *debug_frame; /* NULL: none; belongs to dwarf */
};

/*
 * What is read from one file hangs on its owner: itself, or whose separate data it has. -ENOENT:
 * the file has none, or is for a machine that we do not know; -ENOMEM, -EIO … The image can be
 * freed.
 */
int libdw_image__make(struct libdw_image *, const struct elf_file *from, struct elf_file *owner);
void libdw_image__free(struct libdw_image *);

/* libdw's row for an address, or NULL; the caller frees it. */
Dwarf_Frame *libdw_image__frame(const struct libdw_image *, uint64_t vaddr);

#endif
