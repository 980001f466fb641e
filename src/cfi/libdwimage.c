// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/libdwimage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/verify.h"
#include "elf/code.h"
#include "elf/debugfile.h"
#include "elf/section.h"

/* Bytes of one section, also when decompressed. The job of a file that is not trusted has a smaller
 * limit: 16 MB take 10 ms. */
#define BYTES_MAX	    (64u << 20)
#define BYTES_UNTRUSTED_MAX (16u << 20)

/* The order matters: libdw searches .eh_frame_hdr before .eh_frame. */
enum { EH_FRAME_HDR, EH_FRAME, DEBUG_FRAME, ZDEBUG_FRAME, WANTED_CNT = LIBDW_IMAGE_SECTIONS };
static const char *const wanted[WANTED_CNT] = { ".eh_frame_hdr", ".eh_frame", ".debug_frame",
						".zdebug_frame" };

struct libdwimage_builder {
	const struct elf_file *from;
	struct elf_file *owner;
	struct buf out;
	size_t kept_sz;
	size_t cnt;
	size_t index[WANTED_CNT];	  /* of the section; 0: absent */
	Elf64_Shdr shdrs[WANTED_CNT + 2]; /* first the null section, last the names */
};

static bool libdwimage_may_keep(struct libdwimage_builder *b, uint64_t sz)
{
	if (sz > (b->owner->trusted ? BYTES_MAX : BYTES_UNTRUSTED_MAX) ||
	    !elf_file__hold(b->owner, sz))
		return false;
	b->kept_sz += sz;
	return true;
}

/* Appends bytes of the file. Checks that the file has them before it allocates memory. */
static int libdwimage_append(struct libdwimage_builder *b, uint64_t off, uint64_t sz)
{
	off_t end = b->from->fd < 0 ? 0 : lseek(b->from->fd, 0, SEEK_END);
	uint8_t *to;

	if (end < 0 || (b->from->fd >= 0 && (off > (uint64_t)end || sz > (uint64_t)end - off)) ||
	    !libdwimage_may_keep(b, sz))
		return -EIO;
	to = buf__extend(&b->out, sz);
	if (!to)
		return -ENOMEM;
	return elf_file__read(b->from, off, to, sz);
}

static void libdwimage_align(struct buf *b)
{
	static const uint8_t zeros[16];

	buf__append(b, zeros, -b->sz % sizeof(zeros));
}

static int libdwimage_check_compressed(struct libdwimage_builder *b, uint64_t at, uint64_t sz)
{
	Elf64_Chdr chdr;

	if (sz < sizeof(chdr))
		return -EIO;
	memcpy(&chdr, b->out.data + at, sizeof(chdr));
	return libdwimage_may_keep(b, chdr.ch_size) ? 0 : -EIO;
}

/* The old compressed form: "ZLIB" and the size, big-endian. */
static int libdwimage_check_zdebug(struct libdwimage_builder *b, uint64_t at, uint64_t sz)
{
	uint64_t big;

	if (sz < 4 + sizeof(big))
		return -EIO;
	memcpy(&big, b->out.data + at + 4, sizeof(big));
	return libdwimage_may_keep(b, be64toh(big)) ? 0 : -EIO;
}

static int libdwimage_add_section(struct libdwimage_builder *b, size_t which, const GElf_Shdr *shdr)
{
	Elf64_Shdr *s = &b->shdrs[b->cnt];
	int err;

	libdwimage_align(&b->out);
	*s = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
			   .sh_flags = shdr->sh_flags & (SHF_ALLOC | SHF_COMPRESSED),
			   .sh_addr = shdr->sh_addr,
			   .sh_offset = b->out.sz,
			   .sh_size = shdr->sh_size,
			   .sh_addralign = 1 };
	err = libdwimage_append(b, shdr->sh_offset, shdr->sh_size);
	if (!err && (shdr->sh_flags & SHF_COMPRESSED))
		err = libdwimage_check_compressed(b, s->sh_offset, s->sh_size);
	else if (!err && which == ZDEBUG_FRAME)
		err = libdwimage_check_zdebug(b, s->sh_offset, s->sh_size);
	if (!err)
		b->index[which] = b->cnt++;
	return err;
}

static int libdwimage_add_sections(struct libdwimage_builder *b)
{
	b->cnt = 1;
	for (size_t i = 0; i < WANTED_CNT; i++) {
		GElf_Shdr shdr;

		if (section__named(b->from, wanted[i], &shdr) && shdr.sh_type != SHT_NOBITS &&
		    shdr.sh_size && libdwimage_add_section(b, i, &shdr) == -ENOMEM)
			return -ENOMEM;
	}
	return b->cnt > 1 ? 0 : -ENOENT;
}

static void libdwimage_add_names(struct libdwimage_builder *b)
{
	Elf64_Shdr *s = &b->shdrs[b->cnt];
	size_t at = b->out.sz;

	buf__u8(&b->out, 0);
	for (size_t i = 0; i < WANTED_CNT; i++) {
		if (b->index[i])
			b->shdrs[b->index[i]].sh_name = (uint32_t)(b->out.sz - at);
		buf__append(&b->out, wanted[i], strlen(wanted[i]) + 1);
	}
	*s = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = b->out.sz - at, .sh_addralign = 1
	};
	b->cnt++;
}

static const Elf64_Ehdr blank = {
	.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
	.e_type = ET_DYN,
	.e_version = EV_CURRENT,
	.e_ehsize = sizeof(Elf64_Ehdr),
	.e_phentsize = sizeof(Elf64_Phdr),
	.e_shentsize = sizeof(Elf64_Shdr),
};

/* Completes an image after its sections. */
static int libdwimage_end_image(struct libdwimage_builder *b, const struct machine *machine)
{
	Elf64_Ehdr ehdr = blank;

	ehdr.e_machine = machine->elf;
	libdwimage_add_names(b);
	libdwimage_align(&b->out);
	ehdr.e_shoff = b->out.sz;
	ehdr.e_shnum = (uint16_t)b->cnt;
	ehdr.e_shstrndx = (uint16_t)(b->cnt - 1);
	buf__append(&b->out, b->shdrs, b->cnt * sizeof(b->shdrs[0]));
	if (buf__err(&b->out))
		return -ENOMEM;
	memcpy(b->out.data, &ehdr, sizeof(ehdr));
	return 0;
}

static int libdwimage_build_from_sections(struct libdwimage_builder *b)
{
	int err;

	buf__append(&b->out, &blank, sizeof(blank));
	err = libdwimage_add_sections(b);
	return err ? err : libdwimage_end_image(b, b->from->machine);
}

/*
 * Handles a file without section headers. A program header gives the search table, which gives the
 * start of the frames; only the end of the segment bounds them. Therefore used for trusted files
 * only.
 */
static int libdwimage_build_from_segments(struct libdwimage_builder *b)
{
	Elf64_Ehdr ehdr = blank;
	GElf_Phdr hdr = { 0 }, load = { 0 }, p;
	int err;

	for (size_t i = 0; segment__at(b->from, i, &p); i++)
		if (p.p_type == PT_GNU_EH_FRAME)
			hdr = p;
	for (size_t i = 0; hdr.p_filesz && segment__at(b->from, i, &p); i++)
		if (p.p_type == PT_LOAD && hdr.p_offset - p.p_offset < p.p_filesz)
			load = p;
	if (!load.p_filesz)
		return -ENOENT;
	ehdr.e_machine = b->from->machine->elf;
	ehdr.e_phoff = sizeof(ehdr);
	ehdr.e_phnum = 1;
	buf__reset(&b->out);
	buf__append(&b->out, &ehdr, sizeof(ehdr));
	hdr.p_offset += sizeof(ehdr) + sizeof(hdr) - load.p_offset;
	buf__append(&b->out, &hdr, sizeof(hdr)); /* GElf_Phdr is Elf64_Phdr */
	err = libdwimage_append(b, load.p_offset, load.p_filesz);
	return err ? err : buf__err(&b->out);
}

/* Finds the bytes that libdw will see, decompressed if necessary. Returns false if there are none.
 */
static bool libdwimage_find_bytes(const struct libdw_image *img, size_t index,
				  struct cfi_section *s)
{
	Elf_Scn *scn = index ? elf_getscn(img->elf, index) : NULL;
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr shdr;

	if (!data || !gelf_getshdr(scn, &shdr))
		return false;
	s->data = data->d_buf;
	s->sz = data->d_buf ? data->d_size : 0;
	s->vaddr = shdr.sh_addr;
	return true;
}

/* The image owns the bytes, so they can be changed. */
static bool libdwimage_check_frames(const struct libdwimage_builder *b,
				    const struct cfi_section *frames, const struct cfi_section *hdr)
{
	if (machine__links(b->from->machine))
		cfi_section__forget_signatures(frames, (uint8_t *)frames->data);
	return b->from->trusted || cfi_section__is_sane(frames, hdr);
}

/* In an image of segments the end of the frames is unknown; such an image is made of trusted files
 * only. */
static bool libdwimage_eh_frame_ok(const struct libdw_image *img,
				   const struct libdwimage_builder *b)
{
	struct cfi_section frames = { .eh = true }, hdr = { 0 };
	bool has_hdr = libdwimage_find_bytes(img, b->index[EH_FRAME_HDR], &hdr);

	if (!libdwimage_find_bytes(img, b->index[EH_FRAME], &frames))
		return b->from->trusted;
	return libdwimage_check_frames(b, &frames, has_hdr ? &hdr : NULL);
}

static bool libdwimage_debug_frame_ok(const struct libdw_image *img,
				      const struct libdwimage_builder *b)
{
	size_t index = b->index[DEBUG_FRAME] ? b->index[DEBUG_FRAME] : b->index[ZDEBUG_FRAME];
	struct cfi_section frames = { .eh = false };

	if (!libdwimage_find_bytes(img, index, &frames))
		return b->from->trusted;
	return libdwimage_check_frames(b, &frames, NULL);
}

/* Takes ownership of the builder's bytes. */
static int libdwimage_open_bytes(struct libdw_image *img, struct libdwimage_builder *b)
{
	img->bytes = b->out.data;
	img->sz = b->kept_sz;
	memcpy(img->index, b->index, sizeof(img->index));
	img->elf = elf_memory((char *)b->out.data, b->out.sz);
	if (!img->elf)
		return -ENOENT;
	if (libdwimage_eh_frame_ok(img, b))
		img->eh_frame = dwarf_getcfi_elf(img->elf);
	img->dwarf = dwarf_begin_elf(img->elf, DWARF_C_READ, NULL);
	if (img->dwarf && libdwimage_debug_frame_ok(img, b))
		img->debug_frame = dwarf_getcfi(img->dwarf);
	return img->eh_frame || img->debug_frame ? 0 : -ENOENT;
}

int libdw_image__make(struct libdw_image *img, const struct elf_file *from, struct elf_file *owner)
{
	struct libdwimage_builder b = { .from = from, .owner = owner };
	int err;

	*img = (struct libdw_image){ 0 };
	if (!from->machine || from->machine != owner->machine)
		return -ENOENT;
	err = libdwimage_build_from_sections(&b);
	if (err == -ENOENT && from->trusted)
		err = libdwimage_build_from_segments(&b);
	if (!err)
		return libdwimage_open_bytes(img, &b);
	buf__free(&b.out);
	return err;
}

static int libdwimage_make_of_debug(struct libdw_image *img, struct elf_file *debug,
				    struct elf_file *own)
{
	int err = debug ? libdw_image__make(img, debug, own) : -ENOENT;

	elf_file__put(debug); /* the bytes were copied */
	return err;
}

int libdw_image__make_separate(struct libdw_image *img, struct elf_file *own)
{
	int err;

	*img = (struct libdw_image){ 0 };
	err = libdwimage_make_of_debug(img, debug_data__open(own), own);
	if (!err)
		return 0;
	libdw_image__free(img);
	return libdwimage_make_of_debug(img, debug_file__open(own, DEBUG_DIR), own);
}

static void libdwimage_add_plain(struct libdwimage_builder *b, size_t which,
				 const struct cfi_section *s)
{
	libdwimage_align(&b->out);
	b->shdrs[b->cnt] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
					 .sh_flags = which <= EH_FRAME ? SHF_ALLOC : 0,
					 .sh_addr = s->vaddr,
					 .sh_offset = b->out.sz,
					 .sh_size = s->sz,
					 .sh_addralign = 1 };
	buf__append(&b->out, s->data, s->sz);
	b->index[which] = b->cnt++;
}

int libdw_image__write(const struct libdw_image *img, const struct machine *machine,
		       struct buf *out)
{
	struct libdwimage_builder b = { .cnt = 1 };
	int err = -ENOENT;

	buf__append(&b.out, &blank, sizeof(blank));
	for (size_t i = 0; i < WANTED_CNT; i++) {
		size_t which = i == ZDEBUG_FRAME ? DEBUG_FRAME : i;
		struct cfi_section s;

		if (!b.index[which] && libdwimage_find_bytes(img, img->index[i], &s) && s.sz)
			libdwimage_add_plain(&b, which, &s);
	}
	if (b.cnt > 1)
		err = libdwimage_end_image(&b, machine);
	*out = b.out;
	return err;
}

void libdw_image__free(struct libdw_image *img)
{
	if (img->eh_frame)
		dwarf_cfi_end(img->eh_frame);
	dwarf_end(img->dwarf);
	elf_end(img->elf);
	free(img->bytes);
	*img = (struct libdw_image){ 0 };
}

Dwarf_Frame *libdw_image__frame(const struct libdw_image *img, uint64_t vaddr)
{
	Dwarf_Frame *frame;

	if (img->eh_frame && dwarf_cfi_addrframe(img->eh_frame, vaddr, &frame) == 0)
		return frame;
	if (img->debug_frame && dwarf_cfi_addrframe(img->debug_frame, vaddr, &frame) == 0)
		return frame;
	return NULL;
}
