// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/gdbjit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "process/maps.h"
#include "elf/addresstask.h"

#define LISTED_MAX   4096	 /* images: the list may be circular */
#define PART_MAX     (4u << 20)	 /* bytes of an image without its code, or of its frames */
#define READ_MAX     (32u << 20) /* bytes of all images read at a time, used or not */
#define SECTIONS_MAX 1024
#define RANGES_MAX   16384
#define SEARCH_MAX   (256u << 20) /* bytes of symbols of all files searched at a time */
#define OPENING	     (64u << 10)  /* opening a file counts as this many bytes */
#define VERSION	     1

/* The structs in the process's memory. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct listed {
	uint64_t next, prev, addr, sz;
};

struct gdbjit_image {
	uint64_t start, end; /* of all of its code; end 0: none */
	uint16_t machine;
	uint64_t frames_at;
	uint8_t *frames;
	size_t frames_sz;
};

/* A range of code, and the index of the image with its frames. */
struct gdbjit_range {
	uint64_t start, end;
	size_t image;
};

/* The result of reading the list once. */
struct gdb_list {
	struct gdbjit_image *images;
	size_t cnt, cap, sz;
	struct gdbjit_range *ranges; /* ascending, no overlaps */
	size_t range_cnt, range_cap;
};

struct gdb_jit {
	struct workers *workers; /* NULL: none */
	uint64_t files;		 /* a hash of the mappings at the last search */
	uint64_t address;	 /* of the descriptor; 0: none */
	struct descriptor last;
	pthread_mutex_t *lock; /* protects the fields below; NULL: none */
	struct gdb_list list;
	uint32_t generation;
};

static void gdbjit_free_list(struct gdb_list *l)
{
	while (l->cnt)
		free(l->images[--l->cnt].frames);
	free(l->images);
	free(l->ranges);
	*l = (struct gdb_list){ 0 };
}

void gdb_jit__forget(struct gdb_jit *g)
{
	gdbjit_free_list(&g->list);
	g->last = (struct descriptor){ 0 };
	g->generation++;
}

/* Takes ownership of what the list points to. */
static void replace_list(struct gdb_jit *g, const struct gdb_list *list)
{
	if (g->lock)
		pthread_mutex_lock(g->lock);
	gdb_jit__forget(g);
	g->list = *list;
	if (g->lock)
		pthread_mutex_unlock(g->lock);
}

/* ---- finding the descriptor ---------------------------------------------------------------------
 */

struct gdbjit_search {
	const struct jit_owner *owner;
	uint64_t hash, ino, found; /* hash: of the mappings */
	struct symbol_search files;
};

static void gdbjit_count_file(const struct record_mmap *m, void *arg)
{
	struct gdbjit_search *s = arg;

	if (m->ino)
		s->hash = (s->hash ^ m->ino ^ m->start) * 0x9e3779b97f4a7c15u;
}

static void search_file(const struct record_mmap *m, void *arg)
{
	struct gdbjit_search *s = arg;
	struct elf_file *f;
	const char *name = "__jit_debug_descriptor";
	uint64_t vaddr, symbol;
	int fd;

	if (s->found || s->files.failed || !m->ino || m->ino == s->ino || s->files.left < OPENING)
		return;
	s->ino = m->ino;
	s->files.left -= OPENING;
	fd = jit_owner__open_mapped(s->owner, m);
	f = fd < 0 ? NULL : elf_file__new(fd, m->path);
	elf_file__check_place(f, m->path);
	if (f && elf_file__vaddr(f, m->pgoff, &vaddr) &&
	    address_task__find(&s->files, f, &(struct elf_symbol_names){ &name, 1 }, &symbol))
		s->found = m->start - vaddr + symbol;
	elf_file__put(f);
}

/* Searches the files again when the mappings change, which also happens at an exec. */
static void find_descriptor(struct gdb_jit *g, const struct jit_owner *o)
{
	struct gdbjit_search s = { .owner = o, .files = { g->workers, .left = SEARCH_MAX } };
	int maps = openat(o->proc, "maps", O_RDONLY | O_CLOEXEC);

	if (maps < 0)
		return;
	maps__read(maps, gdbjit_count_file, &s);
	if (s.hash != g->files && lseek(maps, 0, SEEK_SET) == 0) {
		maps__read(maps, search_file, &s);
		g->files = s.files.failed ? 0 : s.hash;
		g->address = s.found;
	}
	close(maps);
}

/* ---- the list -----------------------------------------------------------------------------------
 */

static bool gdbjit_read_at(int mem, uint64_t addr, void *to, size_t sz)
{
	return addr <= INT64_MAX && pread(mem, to, sz, (off_t)addr) == (ssize_t)sz;
}

/* Returns bytes of the image, or NULL if it does not have them. */
static const void *gdbjit_part(const uint8_t *bytes, size_t all, uint64_t off, uint64_t sz)
{
	return off <= all && sz <= all - off ? bytes + off : NULL;
}

static bool gdbjit_is_named(const uint8_t *names, size_t sz, uint32_t at, const char *name)
{
	return at < sz && strlen(name) < sz - at && strcmp((const char *)names + at, name) == 0;
}

/* The useful parts of an image, read section by section. */
struct gdbjit_reading {
	int mem;
	size_t left; /* bytes left to read */
	const uint8_t *bytes, *names;
	size_t sz, names_sz;
	Elf64_Ehdr head;
	struct gdbjit_image image;
};

/* Returns memory for the caller to free, or NULL if the limit is reached. */
static uint8_t *gdbjit_room(struct gdbjit_reading *r, uint64_t sz)
{
	if (sz > PART_MAX || sz > r->left)
		return NULL;
	r->left -= sz;
	return malloc(sz);
}

/* .eh_frame has been relocated where it was loaded, perhaps only there. */
static void gdbjit_read_frames(struct gdbjit_reading *r, const Elf64_Shdr *s, bool eh)
{
	struct gdbjit_image *i = &r->image;
	const void *own = gdbjit_part(r->bytes, r->sz, s->sh_offset, s->sh_size);

	if (i->frames || !s->sh_size || (eh && !s->sh_addr))
		return;
	i->frames = gdbjit_room(r, s->sh_size);
	if (!i->frames)
		return;
	i->frames_sz = s->sh_size;
	i->frames_at = eh ? s->sh_addr : 0;
	if (eh && s->sh_flags & SHF_ALLOC &&
	    gdbjit_read_at(r->mem, s->sh_addr, i->frames, s->sh_size))
		return;
	if (own && s->sh_type != SHT_NOBITS) {
		memcpy(i->frames, own, s->sh_size);
		return;
	}
	free(i->frames);
	i->frames = NULL;
}

/* Counts the ranges that begin at or before the address. */
static size_t range_upper(const struct gdb_list *g, uint64_t addr)
{
	return SEARCH_COUNT(g->ranges, g->range_cnt, r, r->start <= addr);
}

/* The list is ordered from new to old: of overlapping images the first one is current. */
static bool gdbjit_add_range(struct gdb_list *g, const struct gdbjit_range *new)
{
	size_t at = range_upper(g, new->start);
	struct gdbjit_range *ranges;

	if (g->range_cnt == RANGES_MAX || (at > 0 && g->ranges[at - 1].end > new->start) ||
	    (at < g->range_cnt && g->ranges[at].start < new->end))
		return false;
	ranges = array__room(g->ranges, g->range_cnt, &g->range_cap, sizeof(*ranges));
	if (!ranges)
		return false;
	g->ranges = ranges;
	memmove(ranges + at + 1, ranges + at, (g->range_cnt++ - at) * sizeof(*ranges));
	ranges[at] = *new;
	return true;
}

typedef void (*section_fn)(struct gdb_list *, struct gdbjit_reading *, const Elf64_Shdr *);

static void take_code(struct gdb_list *g, struct gdbjit_reading *r, const Elf64_Shdr *s)
{
	const struct gdbjit_range range = { s->sh_addr, s->sh_addr + s->sh_size, g->cnt };
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct gdbjit_image *i = &r->image;

	if ((s->sh_flags & code) != code || range.end <= range.start ||
	    !gdbjit_add_range(g, &range))
		return;
	i->start = !i->end || range.start < i->start ? range.start : i->start;
	i->end = range.end > i->end ? range.end : i->end;
}

static void take_frames(struct gdb_list *g, struct gdbjit_reading *r, const Elf64_Shdr *s)
{
	(void)g;
	if (gdbjit_is_named(r->names, r->names_sz, s->sh_name, ".eh_frame"))
		gdbjit_read_frames(r, s, true);
	else if (gdbjit_is_named(r->names, r->names_sz, s->sh_name, ".debug_frame"))
		gdbjit_read_frames(r, s, false);
}

static bool section_at(const struct gdbjit_reading *r, size_t i, Elf64_Shdr *s)
{
	uint64_t off = r->head.e_shoff + i * sizeof(*s);
	const void *at =
		off >= r->head.e_shoff ? gdbjit_part(r->bytes, r->sz, off, sizeof(*s)) : NULL;

	if (at)
		memcpy(s, at, sizeof(*s));
	return at;
}

static void each_section(struct gdb_list *g, struct gdbjit_reading *r, section_fn fn)
{
	Elf64_Shdr s;

	for (size_t i = 0; i < r->head.e_shnum && section_at(r, i, &s); i++)
		fn(g, r, &s);
}

static bool read_head(struct gdbjit_reading *r)
{
	const Elf64_Ehdr *e = &r->head;
	Elf64_Shdr s;

	if (r->sz < sizeof(*e))
		return false;
	memcpy(&r->head, r->bytes, sizeof(*e));
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_shentsize != sizeof(s) || e->e_shnum > SECTIONS_MAX ||
	    !section_at(r, e->e_shstrndx, &s))
		return false;
	r->image.machine = e->e_machine;
	r->names = gdbjit_part(r->bytes, r->sz, s.sh_offset, s.sh_size);
	r->names_sz = r->names ? s.sh_size : 0;
	return !r->names_sz || r->names[r->names_sz - 1] == '\0';
}

static void add_image(struct gdb_list *g, struct gdbjit_reading *r)
{
	struct gdbjit_image *images = array__room(g->images, g->cnt, &g->cap, sizeof(*images));

	if (images) {
		g->images = images;
		each_section(g, r, take_code);
	}
	if (!r->image.end) {
		free(r->image.frames);
		return;
	}
	g->images[g->cnt++] = r->image;
	g->sz += sizeof(r->image) + r->image.frames_sz;
}

static void read_image(struct gdb_list *g, struct gdbjit_reading *r, const struct listed *l)
{
	uint8_t *bytes = gdbjit_room(r, l->sz);

	if (bytes && gdbjit_read_at(r->mem, l->addr, bytes, l->sz)) {
		r->bytes = bytes;
		r->sz = l->sz;
		r->image = (struct gdbjit_image){ 0 };
		if (read_head(r))
			each_section(g, r, take_frames);
		if (r->image.frames)
			add_image(g, r);
	}
	free(bytes);
}

static void gdbjit_read_list(struct gdb_list *g, int mem, uint64_t first)
{
	struct gdbjit_reading r = { .mem = mem, .left = READ_MAX };
	struct listed l = { .next = first };

	for (size_t i = 0; l.next && i < LISTED_MAX; i++) {
		if (!gdbjit_read_at(mem, l.next, &l, sizeof(l)))
			return;
		read_image(g, &r, &l);
	}
}

void gdb_jit__read(struct gdb_jit *g, const struct jit_owner *o)
{
	int mem = o->proc < 0 ? -1 : openat(o->proc, "mem", O_RDONLY | O_CLOEXEC);
	struct descriptor d = { 0 };

	if (mem < 0)
		return;
	find_descriptor(g, o);
	if (!g->address || !gdbjit_read_at(mem, g->address, &d, sizeof(d)) || d.version != VERSION)
		d = (struct descriptor){ 0 };
	if (memcmp(&d, &g->last, sizeof(d)) != 0) {
		struct gdb_list list = { 0 };

		gdbjit_read_list(&list, mem, d.first);
		replace_list(g, &list);
		g->last = d;
	}
	close(mem);
}

bool gdb_jit__find(const struct gdb_jit *g, uint64_t addr, struct code *c)
{
	size_t i = range_upper(&g->list, addr);
	const struct gdbjit_range *range = i ? &g->list.ranges[i - 1] : NULL;
	const struct gdbjit_image *image;

	if (!range || addr >= range->end)
		return false;
	image = &g->list.images[range->image];
	*c = (struct code){ .start = image->start,
			    .sz = image->end - image->start,
			    .machine = image->machine,
			    .frames = image->frames,
			    .frames_sz = image->frames_sz,
			    .frames_at = image->frames_at };
	return true;
}

size_t gdb_jit__cnt(const struct gdb_jit *g)
{
	return g->list.cnt;
}

size_t gdb_jit__sz(const struct gdb_jit *g)
{
	return g->list.sz + g->list.range_cnt * sizeof(*g->list.ranges);
}

uint32_t gdb_jit__generation(const struct gdb_jit *g)
{
	return g->generation;
}

struct gdb_jit *gdb_jit__new(pthread_mutex_t *lock, struct workers *workers)
{
	struct gdb_jit *g = calloc(1, sizeof(*g));

	if (g)
		*g = (struct gdb_jit){ .workers = workers, .lock = lock };
	return g;
}

void gdb_jit__free(struct gdb_jit *g)
{
	if (!g)
		return;
	gdbjit_free_list(&g->list);
	free(g);
}
