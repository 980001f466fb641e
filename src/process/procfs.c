// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/openjob.h"
#include "base/handle.h"

struct reading {
	struct process_table *table;
	const struct entry *entry;
	struct image *image;
};

/* Adds a mapping. Drops it if out of memory. */
static void add(const struct record_mmap *r, void *arg)
{
	struct reading *to = arg;
	struct mapping m;

	if (process_table__map(to->table, to->entry, r, &m) == 0)
		image__insert(&to->image, &m);
}

static void read_maps(struct reading *to, const char *name)
{
	int fd = openat(to->table->places.proc, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	maps__read(fd, add, to);
	close(fd);
}

/* Reads the maps of the other threads: after the first thread ends, its own maps are empty. */
static void read_tasks(struct reading *to)
{
	uint32_t tgid = to->entry->pub.tgid;
	char name[64];
	struct dirent *d;
	DIR *dir;
	int fd;

	snprintf(name, sizeof(name), "%u/task", tgid);
	fd = openat(to->table->places.proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	if (!dir)
		return;
	while (to->image->cnt == 0 && (d = readdir(dir))) {
		unsigned long tid = strtoul(d->d_name, NULL, 10);

		if (tid == 0 || tid == tgid)
			continue;
		snprintf(name, sizeof(name), "%u/task/%lu/maps", tgid, tid);
		read_maps(to, name);
	}
	closedir(dir);
}

struct image *process_table__read(struct process_table *t, const struct entry *e)
{
	struct reading to = { t, e, image__new(t->paths) };
	char name[32];

	if (!to.image)
		return NULL;
	snprintf(name, sizeof(name), "%u/maps", e->pub.tgid);
	read_maps(&to, name);
	if (to.image->cnt == 0)
		read_tasks(&to);
	return to.image;
}

/* Names the process by the first mapping of the image. */
static void name_by_map(struct process *p)
{
	if (p->map_cnt == 0)
		return;
	mapping__settle(&p->maps[0]);
	p->build_id = p->maps[0].build_id;
	p->exe = open_job__get(p->maps[0].opening);
}

void process_table__name(struct process_table *t, struct process *p)
{
	struct elf_file *exe = NULL;
	struct open_job *o = NULL;
	struct stat st;
	char name[32];

	open_job__put(p->exe);
	p->exe = NULL;
	p->build_id = (struct build_id){ 0 };
	snprintf(name, sizeof(name), "%u/exe", p->tgid);
	if (handle__stat(t->places.proc, name, &st) == 0) {
		exe = elf_cache__find(t->files, &st, NULL);
		o = exe ? NULL : open_job__find(t, &st);
	}
	if (exe)
		p->build_id = exe->build_id;
	else if (o)
		p->exe = open_job__get(o);
	else
		name_by_map(p);
	elf_file__put(exe);
}
