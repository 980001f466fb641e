// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/tablemaps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/handle.h"
#include "process/mmquery.h"

#define DELETED " (deleted)"
#define PATH_SZ (PATH_MAX + sizeof(DELETED))

/* Kinds of mappings by path prefix. The first matching prefix decides. */
static const struct {
	const char *prefix;
	enum mapping_kind kind;
} kinds[] = {
	{ "[vdso]", MAPPING_VDSO },
	{ "[vsyscall]", MAPPING_VSYSCALL },
	{ "[uprobes", MAPPING_UPROBES },
	{ "/memfd:", MAPPING_ANON },
	{ "/SYSV", MAPPING_ANON },
	{ "/dev/zero", MAPPING_ANON },
	{ "/anon_hugepage", MAPPING_ANON },
	{ "//toolong", MAPPING_FILE },
	{ "//enomem", MAPPING_FILE },
	{ "//", MAPPING_ANON },
	{ "/", MAPPING_FILE },
};

/* Nearly all paths differ from nearly all prefixes in the second letter. */
static bool tablemaps_begins(const char *path, const char *prefix)
{
	return path[0] == prefix[0] && (prefix[1] == '\0' || path[1] == prefix[1]) &&
	       strncmp(path, prefix, strlen(prefix)) == 0;
}

static enum mapping_kind tablemaps_kind_of(const char *path)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (tablemaps_begins(path, kinds[i].prefix))
			return kinds[i].kind;
	return MAPPING_ANON; /* "", [heap], [stack], [anon:…], anon_inode:… */
}

/* Copies `path` without the " (deleted)" suffix. `to` has PATH_SZ bytes. */
static void tablemaps_copy_path(char *to, const char *path)
{
	size_t sz = strnlen(path, PATH_SZ - 1), suffix = strlen(DELETED);

	memcpy(to, path, sz);
	if (sz > suffix && path[0] == '/' && memcmp(path + sz - suffix, DELETED, suffix) == 0)
		sz -= suffix;
	to[sz] = '\0';
}

/* Sets the file of the mapping if it is known, else its opening. */
static void tablemaps_find_file(struct process_table *t, struct mapping *out,
				const struct open_request *r)
{
	bool told = t->open.places.told, there;
	struct stat st;

	out->opening = open_job__get(open_job__find_mapped(&t->open, r->map));
	if (out->opening)
		return;
	out->file = elf_cache__find_mapped(t->open.files, r, &st, &there);
	if (out->file || (errno == ENOEXEC && !told))
		return;
	if (there && !S_ISREG(st.st_mode) && !told)
		return;
	if (!there)
		out->opening = open_job__get(open_job__find_claimed(&t->open, r));
	if (!out->opening)
		out->opening =
			open_job__new(&t->open, r, there && S_ISREG(st.st_mode) ? &st : NULL);
}

/*
 * Opens the file of any mapping with a path: a memfd may hold a program (runc starts itself from
 * one). A recorded build ID proves that there was a file.
 */
static void tablemaps_open_file(struct process_table *t, struct mapping *out,
				const struct open_request *r)
{
	out->build_id = r->map->build_id;
	if (out->build_id.sz > 0)
		out->kind = MAPPING_FILE;
	tablemaps_find_file(t, out, r);
	if (out->file)
		mapping__set_file(out, out->file);
	else if (out->opening)
		mapping__settle(out);
}

/*
 * Returns true if the mapping is the running kernel's vdso, not one recorded on another kernel.
 */
static bool tablemaps_is_own_vdso(const struct process_table *t, const struct record_mmap *m)
{
	/* A 32-bit process has another vdso than ours. */
	return t->vdso && m->start > UINT32_MAX &&
	       (m->build_id.sz == 0 || build_id__equal(&m->build_id, &t->vdso->build_id));
}

static void tablemaps_open_vdso(struct process_table *t, struct mapping *out,
				struct open_request *r)
{
	out->build_id = r->map->build_id;
	if (tablemaps_is_own_vdso(t, r->map))
		out->file = elf_file__get(t->vdso);
	else if (r->map->build_id.sz > 0)
		out->file = elf_cache__open_mapped(t->open.files, r);
	if (out->file)
		out->build_id = out->file->build_id;
}

int process_table__map(struct process_table *t, const struct entry *e, const struct record_mmap *m,
		       struct mapping *out)
{
	char path[PATH_SZ];
	struct open_request r = { &t->open.places, e->overlays, e->pub.tgid, m, path, NULL };

	if (m->len == 0 || m->len > UINT64_MAX - m->start)
		return -EINVAL;
	tablemaps_copy_path(path, m->path);
	*out = (struct mapping){ .start = m->start,
				 .end = m->start + m->len,
				 .pgoff = m->pgoff,
				 .kind = tablemaps_kind_of(path),
				 .vague = m->ino == 0 && m->build_id.sz == 0,
				 .path = pathtab__add(t->paths, path) };
	if (!out->path)
		return -ENOMEM;
	if (path[0] == '/' && (path[1] != '/' || out->kind == MAPPING_FILE))
		tablemaps_open_file(t, out, &r);
	if (out->kind == MAPPING_VDSO)
		tablemaps_open_vdso(t, out, &r);
	return 0;
}

static void tablemaps_look_again(struct process_table *t, const struct entry *e, struct mapping *m)
{
	struct record_mmap told = { .start = m->start,
				    .len = m->end - m->start,
				    .pgoff = m->pgoff,
				    .build_id = m->build_id,
				    .path = m->path };
	struct open_request r = { &t->open.places, e->overlays, e->pub.tgid, &told, m->path, NULL };

	if (!mapping__settle(m))
		open_job__overlay(m->opening, e->overlays);
	if (m->kind != MAPPING_FILE || m->file || m->opening || !(m->build_id.sz || m->vague))
		return;
	m->file = elf_cache__open_mapped(t->open.files, &r);
	if (m->file)
		m->build_id = m->file->build_id;
}

void process_table__look_again(struct process_table *t, const struct entry *e)
{
	for (size_t i = 0; i < e->pub.image->cnt; i++)
		tablemaps_look_again(t, e, &e->pub.image->maps[i]);
}

/* ---- from /proc ---------------------------------------------------------------------------------
 */

struct tablemaps_reading {
	struct process_table *table;
	const struct entry *entry;
	struct image *image;
};

/* Adds a mapping. Drops it if out of memory. */
static void tablemaps_add(const struct record_mmap *r, void *arg)
{
	struct tablemaps_reading *to = arg;
	struct mapping m;

	if (process_table__map(to->table, to->entry, r, &m) == 0)
		image__insert(&to->image, &m);
}

struct image *process_table__read(struct process_table *t, const struct entry *e)
{
	struct mmquery query = { t->open.places.proc, t->open.places.errands, e->pub.tgid };
	struct tablemaps_reading to = { t, e, image__new(t->paths) };

	if (to.image)
		mmquery__maps(&query, tablemaps_add, &to);
	return to.image;
}

/* Names the process by the first mapping of the image. */
static void tablemaps_name_by_map(struct process *p)
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
	if (handle__stat(t->open.places.proc, name, &st) == 0) {
		exe = elf_cache__find(t->open.files, &st, NULL);
		o = exe ? NULL : open_job__find(&t->open, &st);
	}
	if (exe)
		p->build_id = exe->build_id;
	else if (o)
		p->exe = open_job__get(o);
	else
		tablemaps_name_by_map(p);
	elf_file__put(exe);
}
