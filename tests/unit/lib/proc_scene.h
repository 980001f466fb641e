/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process table with a private /proc, for tests. */
#ifndef UNIT_PROC_SCENE_H
#define UNIT_PROC_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/process.h"
#include "lib/shell.h"

/* A private /proc with process 10, and others that a test adds. */
struct world {
	char proc[64];
	struct process_table *table;
};

static inline void set_maps(const struct world *w, unsigned tgid, const char *maps)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", w->proc, tgid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%u/maps", w->proc, tgid);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(maps, f);
	fclose(f);
}

static inline struct world begin(void **state)
{
	struct world w;

	snprintf(w.proc, sizeof(w.proc), "%s", (char *)*state);
	set_maps(&w, 10,
		 "1000-3000 r-xp 00001000 08:01 5 /bin/ten\n"
		 "3000-4000 rw-p 00003000 08:01 5 /bin/ten\n"
		 "8000-9000 r-xp 00000000 00:00 0 [vdso]\n");
	w.table = process_table__new(&(struct process_options){ .proc = w.proc });
	assert_non_null(w.table);
	return w;
}

/* Returns starts and paths of the mappings. */
static inline const char *show(const struct process *p)
{
	static char text[4096];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; p && i < p->map_cnt; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%lx %s|", p->maps[i].start,
				       p->maps[i].path);
	return text;
}

static inline const char *show_tgid(const struct world *w, uint32_t tgid)
{
	return show(process_table__find(w->table, tgid));
}

static inline void apply_mmap(struct world *w, uint64_t time_ns, uint32_t tgid,
			      struct record_mmap m)
{
	struct record r = { RECORD_MMAP, time_ns, tgid, tgid, 0, { .mmap = m } };

	process_table__apply(w->table, &r);
}

static inline void map_path(struct world *w, uint64_t time_ns, uint32_t tgid, const char *path)
{
	apply_mmap(w, time_ns, tgid,
		   (struct record_mmap){ .start = 0x20000,
					 .len = 0x1000,
					 .prot = PROT_READ | PROT_EXEC,
					 .path = path });
}

static inline void apply_exec(struct world *w, uint64_t time_ns, uint32_t tgid)
{
	struct record r = { RECORD_COMM, time_ns, tgid, tgid, 0, { .comm = { "x", true } } };

	process_table__apply(w->table, &r);
}

static inline void apply_fork(struct world *w, uint64_t time_ns, uint32_t parent, uint32_t tgid)
{
	struct record r = { RECORD_FORK, time_ns, tgid, tgid, 0, { .fork = { parent, parent } } };

	process_table__apply(w->table, &r);
}

static inline void apply_exit(struct world *w, uint64_t time_ns, uint32_t tgid, uint32_t tid)
{
	struct record r = { RECORD_EXIT, time_ns, tgid, tid, 0, { .fork = { 1, 1 } } };

	process_table__apply(w->table, &r);
}

/* Returns the kernel's record of a mapping of the file. */
static inline struct record_mmap mapped(const char *path)
{
	struct record_mmap m = { .start = 0x40000, .len = 0x1000, .prot = 5, .path = path };
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	m.maj = major(st.st_dev);
	m.min = minor(st.st_dev);
	m.ino = st.st_ino;
	return m;
}

/* Maps the file into process 11 at that address, in its folder in /proc. */
static inline void map_into_11(struct world *w, const char *path, uint64_t start)
{
	struct record_mmap m = mapped(path);
	char link[160];

	m.start = start;
	snprintf(link, sizeof(link), "%s/11/map_files/%lx-%lx", w->proc, start, start + m.len);
	unlink(link);
	assert_int_equal(symlink(path, link), 0);
	apply_mmap(w, UINT64_MAX, 11, m);
}

static inline struct world begin_with_11(void **state)
{
	struct world w = begin(state);

	set_maps(&w, 11, "1000-3000 r-xp 00001000 00:00 0 \n");
	shell__run("mkdir -p %s/11/map_files", w.proc);
	process_table__get(w.table, 11);
	return w;
}

#endif
