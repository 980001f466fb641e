// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/gdbjit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "process/maps.h"
#include "symbol/section.h"

#define LISTED_MAX   4096	 /* images: the list may be a ring */
#define IMAGE_MAX    (4u << 20)	 /* bytes of one: its code is elsewhere */
#define READ_MAX     (32u << 20) /* of all that are read in one go */
#define SECTIONS_MAX 1024
#define SYMBOLS_MAX  (8u << 20) /* bytes of a file's symbols */
#define VERSION	     1

/* As they lie in the process's memory. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct listed {
	uint64_t next, prev, addr, sz;
};

struct image {
	uint64_t start, end;
	uint16_t machine;
	uint64_t frames_at;
	uint8_t *frames;
	size_t frames_sz;
};

struct gdb_jit {
	uint64_t files;	  /* a hash of what is mapped, when it was looked through */
	uint64_t address; /* of the descriptor; 0: none */
	struct descriptor last;
	struct image *images;
	size_t cnt, cap, sz;
	uint32_t generation;
};

static void forget(struct gdb_jit *g)
{
	while (g->cnt)
		free(g->images[--g->cnt].frames);
	g->sz = 0;
	g->last = (struct descriptor){ 0 };
	g->generation++;
}

/* ---- where the descriptor is --------------------------------------------------------------------
 */

struct search {
	const struct jit_owner *owner;
	uint64_t files, ino, found;
};

static void count_file(const struct record_mmap *m, void *arg)
{
	struct search *s = arg;

	if (m->ino)
		s->files = (s->files ^ m->ino ^ m->start) * 0x9e3779b97f4a7c15u;
}

static uint64_t find_symbol(const struct elf_file *f, uint32_t type)
{
	static const char name[] = "__jit_debug_descriptor";
	GElf_Shdr shdr;
	Elf_Scn *table = section__typed(f, type, &shdr), *strings;
	size_t sz = 0, names_sz = 0;
	uint8_t *syms, *names;
	uint64_t found = 0;
	Elf64_Sym sym;

	if (!table || shdr.sh_size > SYMBOLS_MAX)
		return 0;
	strings = elf_getscn(elf_file__elf(f), shdr.sh_link);
	syms = section__read(f, table, &sz);
	names = strings ? section__read(f, strings, &names_sz) : NULL; /* NUL at the end */
	for (size_t at = 0; !found && syms && names && sz - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, syms + at, sizeof(sym));
		if (sym.st_shndx != SHN_UNDEF && sym.st_name < names_sz &&
		    strcmp((const char *)names + sym.st_name, name) == 0)
			found = sym.st_value;
	}
	free(names);
	free(syms);
	return found;
}

static void search_file(const struct record_mmap *m, void *arg)
{
	struct search *s = arg;
	struct elf_file *f;
	uint64_t vaddr, symbol = 0;
	int fd;

	if (s->found || !m->ino || m->ino == s->ino)
		return;
	s->ino = m->ino;
	fd = jit_owner__open_mapped(s->owner, m);
	f = fd < 0 ? NULL : elf_file__new(fd, m->path);
	if (f && elf_file__vaddr(f, m->pgoff, &vaddr)) {
		symbol = find_symbol(f, SHT_DYNSYM);
		symbol = symbol ? symbol : find_symbol(f, SHT_SYMTAB);
		s->found = symbol ? m->start - vaddr + symbol : 0;
	}
	elf_file__put(f);
}

/* Files are looked through again when others are mapped: that is how an exec is noticed, too. */
static void find_descriptor(struct gdb_jit *g, const struct jit_owner *o)
{
	struct search s = { .owner = o };
	int maps = openat(o->proc, "maps", O_RDONLY | O_CLOEXEC);

	if (maps < 0)
		return;
	maps__read(maps, count_file, &s);
	if (s.files != g->files && lseek(maps, 0, SEEK_SET) == 0) {
		maps__read(maps, search_file, &s);
		g->files = s.files;
		g->address = s.found;
	}
	close(maps);
}

/* ---- what it lists ------------------------------------------------------------------------------
 */

static bool read_at(int mem, uint64_t addr, void *to, size_t sz)
{
	return addr <= INT64_MAX && pread(mem, to, sz, (off_t)addr) == (ssize_t)sz;
}

/* Bytes of the image; NULL: it does not hold them. */
static const void *part(const uint8_t *bytes, size_t all, uint64_t off, uint64_t sz)
{
	return off <= all && sz <= all - off ? bytes + off : NULL;
}

static bool is_named(const uint8_t *names, size_t sz, uint32_t at, const char *name)
{
	return at < sz && strlen(name) < sz - at && strcmp((const char *)names + at, name) == 0;
}

/* What is of use of an image, section by section. */
struct reading {
	int mem;
	const uint8_t *bytes, *names;
	size_t sz, names_sz;
	struct image image;
};

/* .eh_frame has been relocated where it was loaded, and maybe nowhere else. */
static void take_frames(struct reading *r, const Elf64_Shdr *s, bool eh)
{
	struct image *i = &r->image;
	const void *own = part(r->bytes, r->sz, s->sh_offset, s->sh_size);

	if (i->frames || !s->sh_size || s->sh_size > IMAGE_MAX || (eh && !s->sh_addr))
		return;
	i->frames = malloc(s->sh_size);
	if (!i->frames)
		return;
	i->frames_sz = s->sh_size;
	i->frames_at = eh ? s->sh_addr : 0;
	if (eh && s->sh_flags & SHF_ALLOC && read_at(r->mem, s->sh_addr, i->frames, s->sh_size))
		return;
	if (own && s->sh_type != SHT_NOBITS) {
		memcpy(i->frames, own, s->sh_size);
		return;
	}
	free(i->frames);
	i->frames = NULL;
}

static void take_section(struct reading *r, const Elf64_Shdr *s)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct image *i = &r->image;

	if ((s->sh_flags & code) == code && s->sh_size && s->sh_addr + s->sh_size > s->sh_addr) {
		i->start = !i->end || s->sh_addr < i->start ? s->sh_addr : i->start;
		i->end = s->sh_addr + s->sh_size > i->end ? s->sh_addr + s->sh_size : i->end;
	} else if (is_named(r->names, r->names_sz, s->sh_name, ".eh_frame")) {
		take_frames(r, s, true);
	} else if (is_named(r->names, r->names_sz, s->sh_name, ".debug_frame")) {
		take_frames(r, s, false);
	}
}

static bool section_at(const struct reading *r, const Elf64_Ehdr *e, size_t i, Elf64_Shdr *s)
{
	uint64_t off = e->e_shoff + i * sizeof(*s);
	const void *at = off >= e->e_shoff ? part(r->bytes, r->sz, off, sizeof(*s)) : NULL;

	if (at)
		memcpy(s, at, sizeof(*s));
	return at;
}

static void read_sections(struct reading *r)
{
	Elf64_Ehdr e;
	Elf64_Shdr s;

	if (r->sz < sizeof(e))
		return;
	memcpy(&e, r->bytes, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_shentsize != sizeof(s) || e.e_shnum > SECTIONS_MAX ||
	    !section_at(r, &e, e.e_shstrndx, &s))
		return;
	r->image.machine = e.e_machine;
	r->names = part(r->bytes, r->sz, s.sh_offset, s.sh_size);
	r->names_sz = r->names ? s.sh_size : 0;
	if (r->names_sz && r->names[r->names_sz - 1] != '\0')
		return;
	for (size_t i = 0; i < e.e_shnum && section_at(r, &e, i, &s); i++)
		take_section(r, &s);
}

static void add_image(struct gdb_jit *g, const struct image *i)
{
	struct image *images = array__room(g->images, g->cnt, &g->cap, sizeof(*images));

	if (images && i->frames && i->end) {
		g->images = images;
		g->images[g->cnt++] = *i;
		g->sz += sizeof(*i) + i->frames_sz;
		return;
	}
	g->images = images ? images : g->images;
	free(i->frames);
}

static size_t read_image(struct gdb_jit *g, int mem, const struct listed *l)
{
	struct reading r = { .mem = mem, .sz = l->sz };
	uint8_t *bytes = l->sz <= IMAGE_MAX ? malloc(l->sz) : NULL;

	if (bytes && read_at(mem, l->addr, bytes, l->sz)) {
		r.bytes = bytes;
		read_sections(&r);
		add_image(g, &r.image);
	}
	free(bytes);
	return bytes ? l->sz : 0;
}

static void read_list(struct gdb_jit *g, int mem, uint64_t first)
{
	struct listed l = { .next = first };
	size_t done = 0;

	for (size_t i = 0; l.next && i < LISTED_MAX && done < READ_MAX; i++) {
		if (!read_at(mem, l.next, &l, sizeof(l)))
			return;
		done += read_image(g, mem, &l);
	}
}

void gdb_jit__read(struct gdb_jit *g, const struct jit_owner *o)
{
	int mem = o->proc < 0 ? -1 : openat(o->proc, "mem", O_RDONLY | O_CLOEXEC);
	struct descriptor d = { 0 };

	if (mem < 0)
		return;
	find_descriptor(g, o);
	if (!g->address || !read_at(mem, g->address, &d, sizeof(d)) || d.version != VERSION)
		d = (struct descriptor){ 0 };
	if (memcmp(&d, &g->last, sizeof(d)) != 0) {
		forget(g);
		read_list(g, mem, d.first);
		g->last = d;
	}
	close(mem);
}

bool gdb_jit__find(const struct gdb_jit *g, uint64_t addr, struct code *c)
{
	for (size_t i = 0; i < g->cnt; i++) { /* the last one listed is first */
		const struct image *image = &g->images[i];

		if (addr < image->start || addr >= image->end)
			continue;
		*c = (struct code){ .start = image->start,
				    .sz = image->end - image->start,
				    .machine = image->machine,
				    .frames = image->frames,
				    .frames_sz = image->frames_sz,
				    .frames_at = image->frames_at };
		return true;
	}
	return false;
}

size_t gdb_jit__cnt(const struct gdb_jit *g)
{
	return g->cnt;
}

size_t gdb_jit__sz(const struct gdb_jit *g)
{
	return g->sz;
}

uint32_t gdb_jit__generation(const struct gdb_jit *g)
{
	return g->generation;
}

struct gdb_jit *gdb_jit__new(void)
{
	return calloc(1, sizeof(struct gdb_jit));
}

void gdb_jit__free(struct gdb_jit *g)
{
	if (!g)
		return;
	forget(g);
	free(g->images);
	free(g);
}
