// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "process/maps.h"
#include "process/table.h"

struct reading {
	struct process_table *table;
	uint32_t tgid;
	struct image *image;
};

/* A mapping that finds no memory is left out, like one that was never seen. */
static void add(const struct record_mmap *r, void *arg)
{
	struct reading *to = arg;
	struct mapping m;

	if (process_table__map(to->table, to->tgid, r, &m) == 0)
		image__insert(&to->image, &m);
}

static void read_maps(struct reading *to, const char *name)
{
	int fd = openat(to->table->proc, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	maps__read(fd, add, to);
	close(fd);
}

/* The first thread may end before the others: it has no mappings then, but they do. */
static void read_tasks(struct reading *to)
{
	char name[64];
	struct dirent *d;
	DIR *dir;
	int fd;

	snprintf(name, sizeof(name), "%u/task", to->tgid);
	fd = openat(to->table->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	if (!dir)
		return;
	while (to->image->cnt == 0 && (d = readdir(dir))) {
		unsigned long tid = strtoul(d->d_name, NULL, 10);

		if (tid == 0 || tid == to->tgid)
			continue;
		snprintf(name, sizeof(name), "%u/task/%lu/maps", to->tgid, tid);
		read_maps(to, name);
	}
	closedir(dir);
}

struct image *process_table__read(struct process_table *t, uint32_t tgid)
{
	struct reading to = { t, tgid, image__new(t->paths) };
	char name[32];

	if (!to.image)
		return NULL;
	snprintf(name, sizeof(name), "%u/maps", tgid);
	read_maps(&to, name);
	if (to.image->cnt == 0)
		read_tasks(&to);
	return to.image;
}

struct build_id process_table__exe(struct process_table *t, uint32_t tgid, const struct image *i)
{
	struct build_id id = { 0 };
	struct elf_file *exe = NULL;
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), "%u/exe", tgid);
	if (fstatat(t->proc, name, &st, 0) == 0)
		exe = elf_cache__find(t->files, &st, NULL);
	if (exe)
		id = exe->build_id;
	else if (i->cnt > 0)
		id = i->maps[0].build_id;
	elf_file__put(exe);
	return id;
}
