/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process table of recorded mappings, for tests. */
#ifndef FINDER_SCENE_H
#define FINDER_SCENE_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/elfmaker.h"
#include "process/process.h"
#include "lib/shell.h"

struct world {
	const char *dir;
	struct finder *finder;
	struct process_table *table;
	uint64_t now_ns;
};

static inline struct world begin(void **state, struct process_options o)
{
	struct world w = { .dir = *state, .finder = o.finder };

	o.told = true;
	w.table = process_table__new(&o);
	assert_non_null(w.table);
	return w;
}

static inline void end(struct world *w)
{
	process_table__free(w->table);
	finder__free(w->finder);
}

static inline void put_elf(const char *dir, const char *path, unsigned char id)
{
	struct made_elf made = elfmaker__make(id, "f");
	char full[512];
	int fd;

	snprintf(full, sizeof(full), "%s%s", dir, path);
	fd = elfmaker__write(full, &made, sizeof(made));
	assert_true(fd >= 0);
	close(fd);
}

/* `id` 0: none. The code has the offsets of elfmaker's files. */
static inline struct record_mmap mmap_of(const char *path, unsigned char id)
{
	struct record_mmap m = { .start = 0x40000,
				 .len = 0x1000,
				 .pgoff = offsetof(struct made_elf, code),
				 .prot = PROT_READ | PROT_EXEC,
				 .path = path };

	if (id)
		m.build_id.sz = 20;
	memset(m.build_id.bytes, id, m.build_id.sz);
	return m;
}

static inline void tell(struct world *w, struct record r)
{
	r.time_ns = ++w->now_ns;
	process_table__apply(w->table, &r);
}

static inline void map(struct world *w, uint32_t tgid, struct record_mmap m)
{
	tell(w, (struct record){ RECORD_MMAP, 0, tgid, tgid, 0, { .mmap = m } });
}

static const struct mapping *look(struct world *w, uint32_t tgid, uint64_t addr)
{
	return process__find(process_table__get(w->table, tgid), addr);
}

/* Returns the build ID (its first byte) of the file that is found for a mapping; 0: no file. */
static inline int found(struct world *w, struct record_mmap m)
{
	const struct mapping *to;

	map(w, 10, m);
	to = look(w, 10, m.start);
	assert_non_null(to);
	return to->file ? to->file->build_id.bytes[0] : 0;
}

static inline void write_maps(const char *proc, unsigned tgid, const char *maps)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/%u", proc, tgid);
	mkdir(dir, 0755);
	shell__write(dir, "maps", maps);
}

#endif
