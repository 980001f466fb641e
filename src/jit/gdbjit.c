// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/gdbjit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/addresstask.h"
#include "jit/gdblisttask.h"
#include "process/maps.h"

#define SEARCH_MAX (256u << 20) /* bytes of symbols of all files searched at a time */
#define OPENING	   (64u << 10)	/* opening a file counts as this many bytes */
#define VERSION	   1

/* In the process's memory. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct gdb_jit {
	struct workers *workers; /* NULL: none */
	uint64_t files;		 /* a hash of the mappings at the last search */
	uint64_t address;	 /* of the descriptor; 0: none */
	struct descriptor last;
	pthread_mutex_t *lock; /* protects the fields below; NULL: none */
	struct gdb_list *list; /* NULL: empty */
	size_t list_sz;
	uint32_t generation;
};

void gdb_jit__forget(struct gdb_jit *g)
{
	free(g->list);
	g->list = NULL;
	g->list_sz = 0;
	g->last = (struct descriptor){ 0 };
	g->generation++;
}

/* Takes ownership of the list. */
static void gdbjit_replace_list(struct gdb_jit *g, struct gdb_list *list, size_t sz)
{
	if (g->lock)
		pthread_mutex_lock(g->lock);
	gdb_jit__forget(g);
	g->list = list;
	g->list_sz = sz;
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

static void gdbjit_search_file(const struct record_mmap *m, void *arg)
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
static void gdbjit_find_descriptor(struct gdb_jit *g, const struct jit_owner *o)
{
	struct gdbjit_search s = { .owner = o, .files = { g->workers, .left = SEARCH_MAX } };
	int maps = openat(o->proc, "maps", O_RDONLY | O_CLOEXEC);

	if (maps < 0)
		return;
	maps__read(maps, gdbjit_count_file, &s);
	if (s.hash != g->files && lseek(maps, 0, SEEK_SET) == 0) {
		maps__read(maps, gdbjit_search_file, &s);
		g->files = s.files.failed ? 0 : s.hash;
		g->address = s.found;
	}
	close(maps);
}

/* ---- the list -----------------------------------------------------------------------------------
 */

/* Returns the descriptor, or zeros if the process has none. */
static struct descriptor gdbjit_descriptor(const struct gdb_jit *g, int mem)
{
	struct descriptor d;

	if (!g->address || g->address > INT64_MAX ||
	    pread(mem, &d, sizeof(d), (off_t)g->address) != sizeof(d) || d.version != VERSION)
		return (struct descriptor){ 0 };
	return d;
}

/* Returns false if workers failed. */
static bool gdbjit_read_list(struct gdb_jit *g, const struct gdb_list_source *s)
{
	size_t sz = 0;
	struct gdb_list *list = s->first ? gdb_list_task__read(s, &sz) : NULL;

	if (s->first && !list && workers__failed(-errno))
		return false;
	gdbjit_replace_list(g, list, sz);
	return true;
}

bool gdb_jit__read(struct gdb_jit *g, const struct jit_owner *o)
{
	int mem = o->proc < 0 ? -1 : openat(o->proc, "mem", O_RDONLY | O_CLOEXEC);
	struct descriptor d;
	bool ok = true;

	if (mem < 0)
		return true;
	gdbjit_find_descriptor(g, o);
	d = gdbjit_descriptor(g, mem);
	if (memcmp(&d, &g->last, sizeof(d)) != 0) {
		ok = gdbjit_read_list(
			g, &(struct gdb_list_source){ o->tgid, mem, d.first, g->workers });
		if (ok)
			g->last = d;
	}
	close(mem);
	return ok;
}

bool gdb_jit__find(const struct gdb_jit *g, uint64_t addr, struct code *c)
{
	return g->list && gdb_list__find(g->list, addr, c);
}

size_t gdb_jit__cnt(const struct gdb_jit *g)
{
	return g->list ? g->list->image_cnt : 0;
}

size_t gdb_jit__sz(const struct gdb_jit *g)
{
	return g->list_sz;
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
	free(g->list);
	free(g);
}
