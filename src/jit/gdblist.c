// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/gdblist.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/search.h"

#define LISTED_MAX   4096	 /* images: the list may be circular */
#define PART_MAX     (4u << 20)	 /* bytes of an image without its code, or of its frames */
#define READ_MAX     (32u << 20) /* bytes of all images, used or not */
#define SECTIONS_MAX 1024
#define RANGES_MAX   16384

_Static_assert(sizeof(struct gdb_list) + LISTED_MAX * sizeof(struct gdb_image) +
			       RANGES_MAX * sizeof(struct gdb_range) + READ_MAX <
		       GDB_LIST_MAX,
	       "the largest block");

/* An entry of the list, in the process's memory. */
struct listed {
	uint64_t next, prev, addr, sz;
};

/* The image that is being read, and what the ones before gave. */
struct gdblist_reading {
	int mem;
	size_t left; /* bytes left to read */
	const uint8_t *bytes, *names;
	size_t sz, names_sz;
	Elf64_Ehdr head;
	struct gdb_image image; /* .end 0: no code */
	struct gdb_range ranges[RANGES_MAX];
	size_t range_cnt;
	struct buf images, frames;
};

/* ---- one image ----------------------------------------------------------------------------------
 */

static bool gdblist_read_at(int mem, uint64_t addr, void *to, size_t sz)
{
	return addr <= INT64_MAX && pread(mem, to, sz, (off_t)addr) == (ssize_t)sz;
}

/* Returns bytes of the image, or NULL if it does not have them. */
static const void *gdblist_part(const struct gdblist_reading *r, uint64_t off, uint64_t sz)
{
	return off <= r->sz && sz <= r->sz - off ? r->bytes + off : NULL;
}

static bool gdblist_is_named(const struct gdblist_reading *r, uint32_t at, const char *name)
{
	return at < r->names_sz && strlen(name) < r->names_sz - at &&
	       strcmp((const char *)r->names + at, name) == 0;
}

/* Returns false if the limit of bytes is reached. */
static bool gdblist_may_read(struct gdblist_reading *r, uint64_t sz)
{
	if (sz > PART_MAX || sz > r->left)
		return false;
	r->left -= sz;
	return true;
}

/* .eh_frame has been relocated where it was loaded, perhaps only there. */
static bool gdblist_copy_frames(const struct gdblist_reading *r, const Elf64_Shdr *s, bool eh,
				uint8_t *to)
{
	const void *own = gdblist_part(r, s->sh_offset, s->sh_size);

	if (eh && s->sh_flags & SHF_ALLOC && gdblist_read_at(r->mem, s->sh_addr, to, s->sh_size))
		return true;
	if (!own || s->sh_type == SHT_NOBITS)
		return false;
	memcpy(to, own, s->sh_size);
	return true;
}

static void gdblist_read_frames(struct gdblist_reading *r, const Elf64_Shdr *s, bool eh)
{
	struct gdb_image *i = &r->image;
	size_t before = r->frames.sz;
	uint8_t *to;

	if (i->frames_sz || !s->sh_size || (eh && !s->sh_addr) || !gdblist_may_read(r, s->sh_size))
		return;
	to = buf__extend(&r->frames, s->sh_size);
	if (!to || !gdblist_copy_frames(r, s, eh, to)) {
		r->frames.sz = before;
		return;
	}
	i->frames_off = (uint32_t)before;
	i->frames_sz = (uint32_t)s->sh_size;
	i->frames_at = eh ? s->sh_addr : 0;
}

typedef void (*gdblist_section_fn)(struct gdblist_reading *, const Elf64_Shdr *);

static void gdblist_take_frames(struct gdblist_reading *r, const Elf64_Shdr *s)
{
	if (gdblist_is_named(r, s->sh_name, ".eh_frame"))
		gdblist_read_frames(r, s, true);
	else if (gdblist_is_named(r, s->sh_name, ".debug_frame"))
		gdblist_read_frames(r, s, false);
}

/* The list is ordered from new to old: of overlapping images the first one is current. */
static bool gdblist_add_range(struct gdblist_reading *r, const struct gdb_range *new)
{
	struct gdb_range *ranges = r->ranges;
	size_t at = SEARCH_COUNT(ranges, r->range_cnt, x, x->start <= new->start);

	if (r->range_cnt == RANGES_MAX || (at > 0 && ranges[at - 1].end > new->start) ||
	    (at < r->range_cnt && ranges[at].start < new->end))
		return false;
	memmove(ranges + at + 1, ranges + at, (r->range_cnt++ - at) * sizeof(*ranges));
	ranges[at] = *new;
	return true;
}

static void gdblist_take_code(struct gdblist_reading *r, const Elf64_Shdr *s)
{
	const struct gdb_range range = { s->sh_addr, s->sh_addr + s->sh_size,
					 (uint32_t)(r->images.sz / sizeof(r->image)), 0 };
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct gdb_image *i = &r->image;

	if ((s->sh_flags & code) != code || range.end <= range.start ||
	    !gdblist_add_range(r, &range))
		return;
	i->start = !i->end || range.start < i->start ? range.start : i->start;
	i->end = range.end > i->end ? range.end : i->end;
}

static bool gdblist_section_at(const struct gdblist_reading *r, size_t i, Elf64_Shdr *s)
{
	uint64_t off = r->head.e_shoff + i * sizeof(*s);
	const void *at = off >= r->head.e_shoff ? gdblist_part(r, off, sizeof(*s)) : NULL;

	if (at)
		memcpy(s, at, sizeof(*s));
	return at;
}

static void gdblist_each_section(struct gdblist_reading *r, gdblist_section_fn fn)
{
	Elf64_Shdr s;

	for (size_t i = 0; i < r->head.e_shnum && gdblist_section_at(r, i, &s); i++)
		fn(r, &s);
}

static bool gdblist_read_head(struct gdblist_reading *r)
{
	const Elf64_Ehdr *e = &r->head;
	Elf64_Shdr s;

	if (r->sz < sizeof(*e))
		return false;
	memcpy(&r->head, r->bytes, sizeof(*e));
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_shentsize != sizeof(s) || e->e_shnum > SECTIONS_MAX ||
	    !gdblist_section_at(r, e->e_shstrndx, &s))
		return false;
	r->image.machine = e->e_machine;
	r->names = gdblist_part(r, s.sh_offset, s.sh_size);
	r->names_sz = r->names ? s.sh_size : 0;
	return !r->names_sz || r->names[r->names_sz - 1] == '\0';
}

/* Keeps an image that has frames and code of its own. */
static void gdblist_add_image(struct gdblist_reading *r)
{
	if (r->image.frames_sz)
		gdblist_each_section(r, gdblist_take_code);
	if (r->image.end)
		buf__append(&r->images, &r->image, sizeof(r->image));
	else
		r->frames.sz -= r->image.frames_sz;
}

static void gdblist_read_image(struct gdblist_reading *r, const struct listed *l)
{
	uint8_t *bytes = gdblist_may_read(r, l->sz) ? malloc(l->sz) : NULL;

	if (bytes && gdblist_read_at(r->mem, l->addr, bytes, l->sz)) {
		r->bytes = bytes;
		r->sz = l->sz;
		r->image = (struct gdb_image){ 0 };
		if (gdblist_read_head(r))
			gdblist_each_section(r, gdblist_take_frames);
		gdblist_add_image(r);
	}
	free(bytes);
}

/* ---- the block ----------------------------------------------------------------------------------
 */

static struct gdb_list *gdblist_block(const struct gdblist_reading *r, size_t *sz)
{
	const struct gdb_list l = { .image_cnt = (uint32_t)(r->images.sz / sizeof(r->image)),
				    .range_cnt = (uint32_t)r->range_cnt,
				    .frames_sz = (uint32_t)r->frames.sz };
	struct buf b = { 0 };

	buf__append(&b, &l, sizeof(l));
	buf__append(&b, r->images.data, r->images.sz);
	buf__append(&b, r->ranges, r->range_cnt * sizeof(r->ranges[0]));
	buf__append(&b, r->frames.data, r->frames.sz);
	if (!buf__err(&b) && !buf__err(&r->images) && !buf__err(&r->frames)) {
		*sz = b.sz;
		return (struct gdb_list *)(void *)b.data;
	}
	buf__free(&b);
	return errno = ENOMEM, NULL;
}

struct gdb_list *gdb_list__read(int mem, uint64_t first, size_t *sz)
{
	struct gdblist_reading *r = calloc(1, sizeof(*r));
	struct listed l = { .next = first };
	struct gdb_list *block;

	if (!r)
		return NULL;
	r->mem = mem;
	r->left = READ_MAX;
	for (size_t i = 0; l.next && i < LISTED_MAX; i++) {
		if (!gdblist_read_at(mem, l.next, &l, sizeof(l)))
			break;
		gdblist_read_image(r, &l);
	}
	block = gdblist_block(r, sz);
	buf__free(&r->images);
	buf__free(&r->frames);
	free(r);
	return block;
}

static const struct gdb_image *gdblist_images(const struct gdb_list *l)
{
	return (const void *)(l + 1);
}

static const struct gdb_range *gdblist_ranges(const struct gdb_list *l)
{
	return (const void *)(gdblist_images(l) + l->image_cnt);
}

static const uint8_t *gdblist_frames(const struct gdb_list *l)
{
	return (const void *)(gdblist_ranges(l) + l->range_cnt);
}

static bool gdblist_image_is_sound(const struct gdb_list *l, const struct gdb_image *i)
{
	return i->start < i->end && i->machine <= UINT16_MAX && i->frames_sz &&
	       i->frames_off <= l->frames_sz && i->frames_sz <= l->frames_sz - i->frames_off;
}

/* `end`: of the range before. */
static bool gdblist_range_is_sound(const struct gdb_list *l, const struct gdb_range *r,
				   uint64_t end)
{
	return r->start >= end && r->start < r->end && r->image < l->image_cnt;
}

bool gdb_list__is_sound(const void *block, size_t sz)
{
	const struct gdb_list *l = block;
	uint64_t end = 0;

	if (sz < sizeof(*l) || l->image_cnt > LISTED_MAX || l->range_cnt > RANGES_MAX ||
	    sz != sizeof(*l) + l->image_cnt * sizeof(struct gdb_image) +
			    l->range_cnt * sizeof(struct gdb_range) + (uint64_t)l->frames_sz)
		return false;
	for (size_t i = 0; i < l->image_cnt; i++)
		if (!gdblist_image_is_sound(l, &gdblist_images(l)[i]))
			return false;
	for (size_t i = 0; i < l->range_cnt; end = gdblist_ranges(l)[i++].end)
		if (!gdblist_range_is_sound(l, &gdblist_ranges(l)[i], end))
			return false;
	return true;
}

bool gdb_list__find(const struct gdb_list *l, uint64_t addr, struct code *c)
{
	const struct gdb_range *ranges = gdblist_ranges(l);
	size_t i = SEARCH_COUNT(ranges, l->range_cnt, r, r->start <= addr);
	const struct gdb_image *image;

	if (!i || addr >= ranges[i - 1].end)
		return false;
	image = &gdblist_images(l)[ranges[i - 1].image];
	*c = (struct code){ .start = image->start,
			    .sz = image->end - image->start,
			    .machine = (uint16_t)image->machine,
			    .frames = gdblist_frames(l) + image->frames_off,
			    .frames_sz = image->frames_sz,
			    .frames_at = image->frames_at };
	return true;
}
