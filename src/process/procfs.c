// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "process/mmquery.h"
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

struct image *process_table__read(struct process_table *t, const struct entry *e)
{
	struct mmquery query = { t->places.proc, t->places.errands, e->pub.tgid };
	struct reading to = { t, e, image__new(t->paths) };

	if (to.image)
		mmquery__maps(&query, add, &to);
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
