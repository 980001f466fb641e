/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of an ELF file, copied into a small ELF file in memory for libdw.
 * libdw then neither reads the rest of the file (to get .debug_frame it would load every .debug_
 * section), nor bytes that can change or vanish while it runs. A wrong size is detected here.
 */
#ifndef CFI_LIBDWIMAGE_H
#define CFI_LIBDWIMAGE_H

#include <elfutils/libdw.h>

#include "base/buf.h"
#include "elf/elffile.h"

#define LIBDW_IMAGE_SECTIONS 4

struct libdw_image {
	uint8_t *bytes;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame;		    /* NULL: none */
	Dwarf_CFI *debug_frame;		    /* NULL: none; belongs to dwarf */
	size_t sz;			    /* bytes in memory, without libdw's own */
	size_t index[LIBDW_IMAGE_SECTIONS]; /* private: of the sections; 0: absent */
};

/*
 * The memory counts for `owner`: the file itself, or the file that `from` is the separate debug
 * file of. Returns -ENOENT if the file has no call-frame information or is for an unknown machine,
 * else -ENOMEM, -EIO … After an error the image can be freed.
 */
int libdw_image__make(struct libdw_image *, const struct elf_file *from, struct elf_file *owner);
/* Makes the image of the file's separate debug data: .gnu_debugdata, or its debug file. Returns
 * like libdw_image__make(). */
int libdw_image__make_separate(struct libdw_image *, struct elf_file *);
/* Writes an ELF file with the sections of an image, uncompressed. Returns 0, -ENOENT if it has
 * none, or -ENOMEM. */
int libdw_image__write(const struct libdw_image *, const struct machine *, struct buf *out);
void libdw_image__free(struct libdw_image *);

/* Returns libdw's row for an address, or NULL. The caller frees it. */
Dwarf_Frame *libdw_image__frame(const struct libdw_image *, uint64_t vaddr);

#endif
